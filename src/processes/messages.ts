import type { RateVerdict } from "../rate-limits/rate-limits.js";
import type { RateScope } from "../rate-limits/rate-scope.js";
import type { SignInAttempt } from "../rate-limits/sign-in-limits.js";
import type { CodeSource } from "../sandbox/run.js";
import type { ExitReason } from "../sandbox/runner-link.js";
import type { DatabaseAddress } from "../store/postgres/connect.js";
import type { MetricSnapshot } from "./aggregated-metrics.js";

/** A process's initial message. Secrets travel on the channel between the two, never in the environment. */
export interface StartMessage {
  readonly type: "begin";
  /** From 1. A replacement process has the number of the process that it replaces. */
  readonly number: number;
  /** The embedded database. Absent: DATABASE_URL. */
  readonly address?: DatabaseAddress;
  readonly rootKeys: readonly { readonly id: string; readonly base64: string }[];
  readonly runnerSocket: string;
  readonly port: number;
}

/** One request to count: the client, and the scope to count besides `global`. */
export type CountRequest = readonly [client: string, scope: RateScope | null];

/** Tenants' code has ended a thread of the runner that all processes share. */
export interface CodeFailure {
  readonly type: "code_failure";
  readonly source: CodeSource;
}

export type ToProcess =
  | StartMessage
  | { readonly type: "stop" }
  | { readonly type: "ping" }
  | { readonly type: "metrics" }
  | CodeFailure
  | { readonly type: "verdicts"; readonly batch: number; readonly verdicts: readonly RateVerdict[] }
  | { readonly type: "attempt_counted"; readonly number: number; readonly isAllowed: boolean };

export type FromProcess =
  /** The process accepts messages. */
  | { readonly type: "hello" }
  /** `said`: lines for the operator, which the primary prints once for all processes. */
  | { readonly type: "ready"; readonly url: string; readonly said: readonly string[] }
  | { readonly type: "pong" }
  | { readonly type: "metrics"; readonly metrics: readonly MetricSnapshot[] }
  | { readonly type: "counts"; readonly batch: number; readonly counts: readonly CountRequest[] }
  /** Of a sign-in: to be counted, and answered by its number. */
  | { readonly type: "attempt"; readonly number: number; readonly attempt: SignInAttempt }
  | CodeFailure
  | { readonly type: "kill_runner"; readonly reason: ExitReason };
