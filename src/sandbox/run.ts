import type { Json, JsonObject } from "../base/json.js";
import type { GuestError } from "./guest-error.js";
import type { FunctionKind, RunLimits } from "./limits.js";
import type { SourcePosition } from "./source-position.js";

/**
 * Which instances may be used again for a run: those of the same key and code, and no others. Anything that changes what
 * the code may do or see belongs here.
 */
export interface InstanceKey {
  readonly tenantId: string;
  readonly functionId: string;
  /** The application whose permissions `bt` has. */
  readonly applicationId: string | null;
  readonly configurationVersion: number;
  readonly kind: FunctionKind;
}

/** The source of code, by which circuit breakers count. */
export type CodeSource = Pick<InstanceKey, "tenantId" | "functionId">;

export interface RunRequest {
  readonly key: InstanceKey;
  /** CommonJS: `module.exports = async function (req) { ... }`. */
  readonly code: string;
  /** The object that the function is called with, without `bt`. */
  readonly args: JsonObject;
  /** Whether `req.bt` is there. */
  readonly hasApplication: boolean;
  readonly limits?: Partial<RunLimits> | undefined;
}

export interface ConsoleLine {
  readonly level: "debug" | "log" | "info" | "warn" | "error";
  readonly text: string;
}

/** Where code does not compile. */
export interface CompileProblem extends SourcePosition {
  readonly message: string;
}

/** Why a run came to no answer of its own. */
export type RunFailure =
  /** The deadline passed: the code ran, or waited, for too long. */
  | "timeout"
  /** The instance asked for more memory than it may have. */
  | "memory"
  /** Its thread was ended: it could not be interrupted, or another run of the same tenant could not. */
  | "killed"
  /** Or nested deeper than 128 levels. */
  | "result_too_large"
  | "args_too_large"
  /** It waited for a promise that nothing could settle any more. */
  | "unsettled"
  /** `module.exports` is no function. */
  | "not_a_function"
  | "does_not_compile"
  /** The circuit breaker is open: this function, or this tenant's code, ended threads repeatedly. */
  | "held"
  /** Too many runs were waiting, or it waited too long itself. */
  | "overloaded"
  /** The process that ran it went away. */
  | "runner_restarted";

/** What a run took. */
export interface RunUsage {
  /** From its start to its end: time in the queue does not count. */
  readonly ms: number;
  /** All memory of its instance at its end, which never shrinks. */
  readonly memoryBytes: number;
}

export type RunOutcome = RunEnding & {
  readonly console: readonly ConsoleLine[];
  /** Undefined where it did not run, or went away with its thread. */
  readonly usage: RunUsage | undefined;
};

/** How a run ended. */
type RunEnding =
  | { readonly kind: "returned"; readonly value: Json }
  | { readonly kind: "threw"; readonly error: GuestError }
  | {
      readonly kind: "failed";
      readonly reason: RunFailure;
      /** Whether the same run may succeed later. Code that had effects through `bt` or `fetch` has them twice then. */
      readonly retryable: boolean;
      /** With `does_not_compile`. */
      readonly problem?: CompileProblem | undefined;
    };

/** Nothing was wrong with the code itself, or not with this run of it. */
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
