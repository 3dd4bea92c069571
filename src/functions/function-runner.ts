import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Caller } from "../access/caller.js";
import { Fault, Reason } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import type { HostCalls } from "../sandbox/host-calls.js";
import type { FunctionKind } from "../sandbox/limits.js";
import type { CompileProblem, RunFailure, RunOutcome, RunRequest } from "../sandbox/run.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { FunctionFailed } from "./function-failed.js";

/** A tenant's code, ready to run. */
export interface TenantFunction {
  readonly tenantId: TenantId;
  /** The proxy, reactor or formula that it belongs to. */
  readonly id: Uuid;
  readonly kind: FunctionKind;
  readonly code: string;
  /** Whose permissions `bt` has. */
  readonly application: Caller | undefined;
  readonly configuration: Readonly<Record<string, Json>>;
  /** Changes whenever code or configuration does: state that the code keeps does not outlive them. */
  readonly version: number;
  /** Milliseconds that a run may take, where that is less than usual. */
  readonly timeoutMs?: number | undefined;
}

export type FunctionResult =
  | { readonly kind: "returned"; readonly value: Json }
  /** The code answers in place of everybody else: CustomHttpResponseError. */
  | { readonly kind: "answered"; readonly answer: FunctionAnswer };

export interface FunctionAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

export interface FunctionRunner {
  /**
   * Runs a function once.
   * @throws {FunctionFailed} when it throws, or takes too long, too much memory ...
   * @throws {Fault} unavailable when it could not be run now.
   */
  run(fn: TenantFunction, args: Json, signal: AbortSignal): Promise<FunctionResult>;
}

/** What code reaches of the outside, under which rights. */
export type HostCallsFor = (tenantId: TenantId, application: Caller | undefined) => HostCalls;

/** Sees each run when it has ended, before its caller does. */
export type ObserveRun = (fn: TenantFunction, outcome: RunOutcome) => Promise<void> | void;

export function createFunctionRunner(
  sandbox: Sandbox,
  hostCalls: HostCallsFor,
  observe: ObserveRun = () => {},
): FunctionRunner {
  return {
    async run(fn, args, signal) {
      const hosts = hostCalls(fn.tenantId, fn.application);
      const outcome = await sandbox.run(runRequest(fn, args, hosts.bt !== undefined), hosts, signal);
      await observe(fn, outcome);
      return resultOf(outcome);
    },
  };
}

function runRequest(fn: TenantFunction, args: Json, hasApplication: boolean): RunRequest {
  const { tenantId, id, kind, code, application, configuration, version, timeoutMs } = fn;
  const applicationId = application?.application.id ?? null;
  return {
    key: { tenantId, functionId: id, applicationId, configurationVersion: version, kind },
    code,
    args: { args, configuration: { ...configuration } },
    hasApplication,
    ...(timeoutMs === undefined ? {} : { limits: { wallMs: timeoutMs } }),
  };
}

/** What a run came to for its caller. @throws as {@link FunctionRunner.run}. */
export function resultOf(outcome: RunOutcome): FunctionResult {
  switch (outcome.kind) {
    case "returned":
      return { kind: outcome.kind, value: outcome.value };
    case "threw": {
      const { error } = outcome;
      if (error.type === "custom_http_response") return { kind: "answered", answer: answerOf(error) };
      // Where a published error was thrown is the business of its code alone.
      const position = error.type === "other" ? error.position : undefined;
      throw new FunctionFailed(error.status, error.detail, error.errors, position);
    }
    case "failed":
      throw failureOf(outcome.reason, outcome.problem);
  }
}

const RUNTIME_ERROR = "Reactor Runtime Error";

/** Headers that say how an answer is framed: that is not the code's to say. */
const FRAMING = new Set(["connection", "content-length", "keep-alive", "trailer", "transfer-encoding", "upgrade"]);

/** @throws {FunctionFailed} for what cannot be sent: an interim status, or headers that are none. */
function answerOf({ status, headers, body }: FunctionAnswer): FunctionAnswer {
  const kept = Object.entries(headers).filter(([name]) => !FRAMING.has(name.toLowerCase()));
  try {
    for (const [name, value] of kept) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
  } catch {
    throw unsendable("its headers must be HTTP headers");
  }
  if (status < 200) throw unsendable("its status must be 200 to 599");
  return { status, headers: Object.fromEntries(kept), body };
}

function unsendable(why: string): FunctionFailed {
  return new FunctionFailed(500, RUNTIME_ERROR, { error: [`CustomHttpResponseError cannot be sent: ${why}.`] });
}

/** What callers are told of runs that came to no end of their own. */
const TOLD: Readonly<
  Record<Exclude<RunFailure, "held" | "overloaded" | "runner_restarted">, readonly [number, string, string]>
> = {
  timeout: [500, RUNTIME_ERROR, "The code took too long."],
  memory: [500, RUNTIME_ERROR, "The code used too much memory."],
  killed: [500, RUNTIME_ERROR, "The code had to be stopped."],
  result_too_large: [500, RUNTIME_ERROR, "The code returned too much."],
  args_too_large: [413, RUNTIME_ERROR, "The arguments are too large."],
  unsettled: [500, RUNTIME_ERROR, "The code waits for a promise that nothing can settle."],
  not_a_function: [
    422,
    "Invalid Reactor Formula",
    "The code must export a function: module.exports = async function (req) { ... }.",
  ],
  does_not_compile: [422, "Invalid Reactor Formula", "The code does not compile."],
};

function failureOf(reason: RunFailure, problem: CompileProblem | undefined): Error {
  if (reason === "held") {
    return new Fault("unavailable", "This code repeatedly could not be stopped in time, and is refused for a while.", {
      retryAfter: 60,
      cause: new Reason("the circuit breaker is open"),
    });
  }
  if (reason === "overloaded" || reason === "runner_restarted") {
    return new Fault("unavailable", "The code could not be run now. Try again shortly.", {
      retryAfter: 1,
      cause: new Reason(`sandbox ${reason}`),
    });
  }
  const [status, detail, text] = TOLD[reason];
  const error = problem ? `The code does not compile: ${problem.message}` : text;
  return new FunctionFailed(
    status,
    detail,
    { error: [error] },
    problem && { line: problem.line, column: problem.column },
  );
}
