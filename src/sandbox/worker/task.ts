import type { EngineRun } from "../engine/engine.js";
import type { GuestImage } from "../engine/quickjs/guest-image.js";
import type { GuestError } from "../guest-error.js";
import type { InstanceLimits } from "../limits.js";
import type { CompileProblem, ConsoleLine, RunFailure, RunUsage } from "../run.js";

export interface WorkerSettings {
  readonly image: GuestImage;
  readonly instances: InstanceLimits;
}

export type WorkerTask = RunTask | CompileTask;

export interface RunTask extends Pick<EngineRun, "args" | "hasApplication" | "limits" | "cancelled"> {
  readonly kind: "run";
  readonly requestId: string;
  /** The key of instances that may serve it. */
  readonly key: string;
  readonly code: string;
}

export interface CompileTask {
  readonly kind: "compile";
  readonly requestId: string;
  readonly code: string;
  /** Milliseconds until it is interrupted, if the engine checks the time while compiling. */
  readonly withinMs: number;
}

/** The result of a task. As RunOutcome, except that the value is still JSON in UTF-8. */
export interface WorkerReport {
  readonly outcome: WorkerOutcome;
  /** Undefined if nothing ran. */
  readonly usage?: RunUsage;
  readonly cold: boolean;
  readonly value: Uint8Array<ArrayBuffer>;
}

export type WorkerOutcome =
  | { readonly kind: "returned"; readonly console: readonly ConsoleLine[] }
  | { readonly kind: "threw"; readonly error: GuestError; readonly console: readonly ConsoleLine[] }
  | {
      readonly kind: "failed";
      readonly reason: RunFailure;
      readonly problem?: CompileProblem;
      readonly console: readonly ConsoleLine[];
    }
  | { readonly kind: "compiled"; readonly problem?: CompileProblem };

/** From a thread to the main thread, beside results. */
export type WorkerMessage =
  /** A task has begun: its deadline counts from now. */
  | { readonly type: "started"; readonly requestId: string }
  | {
      readonly type: "hostCall";
      readonly requestId: string;
      readonly number: number;
      readonly payload: Uint8Array<ArrayBuffer>;
    };

export type ThreadMessage =
  | { readonly type: "hostReply"; readonly requestId: string; readonly number: number; readonly payload: Uint8Array }
  | { readonly type: "cancel"; readonly requestId: string };
