import type { GuestError } from "../guest-error.js";
import type { RunLimits } from "../limits.js";
import type { CompileProblem, ConsoleLine } from "../run.js";

/** What runs tenant code. An engine knows nothing of tenants, keys or processes. */
export interface Engine {
  /** Starts an instance with code of its own. Nothing is shared between instances. */
  start(code: string, limits: RunLimits): Promise<Start>;
  /** Compiles code without running any of it. An engine may be unable to keep to the time: its thread is ended then. */
  compile(code: string, withinMs: number): Promise<CompileProblem | undefined>;
}

export type Start =
  | { readonly kind: "started"; readonly instance: Instance }
  | { readonly kind: "does_not_compile"; readonly problem: CompileProblem }
  | { readonly kind: "failed"; readonly reason: EngineFailure };

/** Killed: the engine itself gave up. */
export type EngineFailure = "timeout" | "memory" | "killed";

export interface Instance {
  /** Serves one call at a time, and many one after the other: what the code keeps in its module stays. */
  call(run: EngineRun): Promise<EngineResult>;
  /** All memory that the instance holds, in bytes. It never shrinks. */
  readonly memoryBytes: number;
  /** Whether it may serve another call. */
  readonly isUsable: boolean;
  dispose(): void;
}

/** One call. */
export interface EngineRun {
  /** The arguments as JSON in UTF-8. */
  readonly args: Uint8Array;
  readonly hasApplication: boolean;
  readonly limits: RunLimits;
  /** Read while code runs: not 0 means that nobody waits for it any more. */
  readonly cancelled: Int32Array;
  /** Called when code waits and nobody waits for it any more. */
  readonly signal: AbortSignal;
  /** Sends a call of bt or fetch; the answer is given to the callback, at most once. */
  readonly callHost: (payload: Uint8Array<ArrayBuffer>, answer: (reply: Uint8Array) => void) => void;
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
