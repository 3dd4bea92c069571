import { validateHeaderName, validateHeaderValue } from "node:http";
import { type Caller, loggedActor } from "../access/caller.js";
import { Fault, Reason } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import type { HostCalls } from "../sandbox/host-calls.js";
import type { FunctionKind } from "../sandbox/limits.js";
import type { CompileProblem, RunFailure, RunOutcome, RunRequest } from "../sandbox/run.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { FunctionFailed } from "./function-failed.js";

export interface TenantFunction {
  readonly tenantId: TenantId;
  /** The proxy, reactor or formula that owns the code. */
  readonly id: Uuid;
  readonly kind: FunctionKind;
  readonly code: string;
  /** The application whose permissions `bt` has. */
  readonly application: Caller | undefined;
  readonly configuration: Readonly<Record<string, Json>>;
  /** Changes with code and configuration: the code's state does not outlive them. */
  readonly version: number;
  /** Time limit in milliseconds, if shorter than the default. */
  readonly timeoutMs?: number | undefined;
}

export type FunctionResult =
  | { readonly kind: "returned"; readonly value: Json }
  /** The code answers the caller itself: CustomHttpResponseError. */
  | { readonly kind: "answered"; readonly response: FunctionResponse };

export interface FunctionResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

export interface FunctionRunner {
  /**
   * @throws {FunctionFailed} if it throws, takes too long or too much memory ...
   * @throws {Fault} unavailable if it could not run now.
   */
  run(fn: TenantFunction, args: Json, signal: AbortSignal): Promise<FunctionResult>;
}

export type HostCallsFor = (tenantId: TenantId, application: Caller | undefined) => HostCalls;

/** Called when a run has ended, before its caller gets the result. */
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
      return functionResult(outcome);
    },
  };
}

function runRequest(fn: TenantFunction, args: Json, hasApplication: boolean): RunRequest {
  const { tenantId, id, kind, code, application, configuration, version, timeoutMs } = fn;
  const applicationId = application ? loggedActor(application).id : null;
  return {
    key: { tenantId, functionId: id, applicationId, configurationVersion: version, kind },
    code,
    args: { args, configuration: { ...configuration } },
    hasApplication,
    ...(timeoutMs === undefined ? {} : { limits: { wallMs: timeoutMs } }),
  };
}

/** The result of a run for its caller. @throws as {@link FunctionRunner.run}. */
export function functionResult(outcome: RunOutcome): FunctionResult {
  switch (outcome.kind) {
    case "returned":
      return { kind: outcome.kind, value: outcome.value };
    case "threw": {
      const { error } = outcome;
      if (error.type === "custom_http_response") return { kind: "answered", response: checkedResponse(error) };
      // Callers do not see where code threw a published error; only its authors do.
      const position = error.type === "other" ? error.position : undefined;
      throw new FunctionFailed(error.status, error.detail, error.errors, position);
    }
    case "failed":
      throw failedRun(outcome.reason, outcome.problem);
  }
}

const RUNTIME_ERROR = "Reactor Runtime Error";

/** Headers that frame a response, which code may not set. */
const FRAMING = new Set(["connection", "content-length", "keep-alive", "trailer", "transfer-encoding", "upgrade"]);

/** @throws {FunctionFailed} for a response that cannot be sent: an interim status, or invalid headers. */
function checkedResponse({ status, headers, body }: FunctionResponse): FunctionResponse {
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

/** Errors that callers see for runs that did not finish. */
const TOLD: Readonly<
  Record<Exclude<RunFailure, "held" | "overloaded" | "runner_restarted">, readonly [number, string, string]>
> = {
  timeout: [500, RUNTIME_ERROR, "The code took too long."],
  memory: [500, RUNTIME_ERROR, "The code used too much memory."],
  killed: [500, RUNTIME_ERROR, "The code had to be stopped."],
  result_too_large: [500, RUNTIME_ERROR, "The code returned too much."],
  args_too_large: [413, RUNTIME_ERROR, "The arguments are too large."],
  unsettled: [500, RUNTIME_ERROR, "The code waits for a promise that can never settle."],
  not_a_function: [
    422,
    "Invalid Reactor Formula",
    "The code must export a function: module.exports = async function (req) { ... }.",
  ],
  does_not_compile: [422, "Invalid Reactor Formula", "The code does not compile."],
};

function failedRun(reason: RunFailure, problem: CompileProblem | undefined): Error {
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
