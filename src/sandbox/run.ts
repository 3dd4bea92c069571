import type { Json, JsonObject } from "../base/json.js";
import type { GuestError } from "./guest-error.js";
import type { FunctionKind, RunLimits } from "./limits.js";
import type { SourcePosition } from "./source-position.js";

/**
 * Only runs of the same key and code share an instance. Everything that changes the code's rights or data belongs here.
 */
export interface InstanceKey {
  readonly tenantId: string;
  readonly functionId: string;
  /** The application whose permissions `bt` has. */
  readonly applicationId: string | null;
  readonly configurationVersion: number;
  readonly kind: FunctionKind;
}

export type CodeSource = Pick<InstanceKey, "tenantId" | "functionId">;

export interface RunRequest {
  readonly key: InstanceKey;
  /** CommonJS: `module.exports = async function (req) { ... }`. */
  readonly code: string;
  /** The argument of the function, without `bt`. */
  readonly args: JsonObject;
  /** Whether `req.bt` exists. */
  readonly hasApplication: boolean;
  readonly limits?: Partial<RunLimits> | undefined;
}

export interface ConsoleLine {
  readonly level: "debug" | "log" | "info" | "warn" | "error";
  readonly text: string;
}

export interface CompileProblem extends SourcePosition {
  readonly message: string;
}

export type RunFailure =
  /** The deadline passed while the code ran or waited. */
  | "timeout"
  | "memory"
  /** Its thread was ended: this run, or another one of the same tenant, could not be interrupted. */
  | "killed"
  /** The result is too large, or nested deeper than 128 levels. */
  | "result_too_large"
  | "args_too_large"
  /** It waited for a promise that could never settle. */
  | "unsettled"
  /** `module.exports` is not a function. */
  | "not_a_function"
  | "does_not_compile"
  /** The circuit breaker is open: this function, or this tenant's code, ended threads repeatedly. */
  | "held"
  /** Too many runs were waiting, or it waited too long itself. */
  | "overloaded"
  | "runner_restarted";

export interface RunUsage {
  /** From its start to its end, without time in the queue. */
  readonly ms: number;
  /** Linear memory of the instance when the run ended (WebAssembly memory never shrinks). */
  readonly memoryBytes: number;
}

export type RunOutcome = RunEnding & {
  readonly console: readonly ConsoleLine[];
  /** Undefined if it did not run, or its thread was lost. */
  readonly usage: RunUsage | undefined;
};

type RunEnding =
  | { readonly kind: "returned"; readonly value: Json }
  | { readonly kind: "threw"; readonly error: GuestError }
  | {
      readonly kind: "failed";
      readonly reason: RunFailure;
      /** Whether a retry may succeed. Effects of the code through `bt` or `fetch` then happen twice. */
      readonly retryable: boolean;
      /** Set only if the reason is `does_not_compile`. */
      readonly problem?: CompileProblem | undefined;
    };

/** A later attempt may succeed. */
const RETRYABLE: ReadonlySet<RunFailure> = new Set<RunFailure>(["held", "overloaded", "runner_restarted", "killed"]);

export function failed(
  reason: RunFailure,
  details: {
    readonly problem?: CompileProblem;
    readonly console?: readonly ConsoleLine[];
    readonly usage?: RunUsage | undefined;
    readonly retryable?: boolean;
  } = {},
): RunOutcome & { readonly kind: "failed" } {
  return {
    kind: "failed",
    reason,
    retryable: details.retryable ?? RETRYABLE.has(reason),
    problem: details.problem,
    console: details.console ?? [],
    usage: details.usage,
  };
}
