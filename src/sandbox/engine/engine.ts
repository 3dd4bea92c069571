import type { GuestError } from "../guest-error.js";
import type { RunLimits } from "../limits.js";
import type { CompileProblem, ConsoleLine } from "../run.js";

export type StartResult =
  | { readonly kind: "started"; readonly instance: Instance }
  | { readonly kind: "does_not_compile"; readonly problem: CompileProblem }
  | { readonly kind: "failed"; readonly reason: EngineFailure };

/** `killed`: the engine itself failed. */
export type EngineFailure = "timeout" | "memory" | "killed";

export interface Instance {
  /** Serves one call at a time, and many in sequence: state in the code's module stays. */
  call(run: EngineRun): Promise<EngineResult>;
  /** Memory of the instance in bytes. It never shrinks. */
  readonly memoryBytes: number;
  /** Whether it may serve another call. */
  readonly isUsable: boolean;
  dispose(): void;
}

export interface EngineRun {
  /** The arguments as JSON in UTF-8. */
  readonly args: Uint8Array;
  readonly hasApplication: boolean;
  readonly limits: RunLimits;
  /** Polled while code runs: nonzero means cancelled. */
  readonly cancelled: Int32Array;
  /** Aborted when the run is cancelled while its code waits. */
  readonly signal: AbortSignal;
  /** Sends a call of bt or fetch; the callback gets the result, at most once. */
  readonly callHost: (payload: Uint8Array<ArrayBuffer>, deliver: (reply: Uint8Array) => void) => void;
}

export type EngineResult =
  /** `value`: JSON in UTF-8, as the guest wrote it. */
  | { readonly kind: "returned"; readonly value: Uint8Array<ArrayBuffer>; readonly console: readonly ConsoleLine[] }
  /** `error` lacks the body of a custom response, which is `value`. */
  | {
      readonly kind: "threw";
      readonly error: GuestError;
      readonly value: Uint8Array<ArrayBuffer>;
      readonly console: readonly ConsoleLine[];
    }
  | {
      readonly kind: "failed";
      readonly reason: EngineFailure | "result_too_large" | "not_a_function" | "unsettled";
      readonly console: readonly ConsoleLine[];
    };
