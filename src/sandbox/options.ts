import { availableParallelism } from "node:os";
import {
  defaultInstanceLimits,
  defaultKillLimits,
  defaultQueueLimits,
  type InstanceLimits,
  type KillLimits,
  type QueueLimits,
  type RunLimits,
} from "./limits.js";
import type { RunnerSettings } from "./runner/settings.js";

export interface SandboxOptions {
  /** Threads that run code. Default: twice the processors, at least 4 and at most 16. */
  readonly threads?: number | undefined;
  /** Calls of one tenant that may share a thread while they wait for the host. Default 16. */
  readonly callsPerThread?: number;
  /** For every run that does not bring its own. Defaults: see defaultLimits. */
  readonly limits?: Partial<RunLimits>;
  readonly queue?: Partial<QueueLimits>;
  readonly instances?: Partial<InstanceLimits>;
  readonly kill?: Partial<KillLimits>;
  readonly hold?: Partial<HoldLimits>;
  /** For the operator's log. */
  readonly onIncident?: (incident: SandboxIncident) => void;
}

/** When code that had to be ended with its thread is refused for a while. */
export interface HoldLimits {
  /** Threads that it may cost. */
  readonly kills: number;
  /** Milliseconds in which they count, and for which the code is then refused. */
  readonly ms: number;
}

export type SandboxIncident =
  /** Code could not be interrupted; its thread was ended, and with it the calls that shared it. */
  | { readonly type: "thread_ended"; readonly tenantId: string; readonly functionId: string }
  /** That happened too often: the code is refused for a while. */
  | { readonly type: "code_held"; readonly tenantId: string; readonly functionId: string }
  /** `code` and `signal` as of a child process. `runs` were under way. */
  | {
      readonly type: "runner_exited";
      readonly reason: "crashed" | "silent" | "protocol" | "not_started";
      readonly code: number | null;
      readonly signal: string | null;
      readonly runs: number;
    };

/** Above 16 threads memory grows (15 MB each) and nothing else does: more processors want more runners. */
const MOST_THREADS = 16;

const defaultHold: HoldLimits = { kills: 3, ms: 60_000 };

export interface SandboxSettings {
  readonly runner: RunnerSettings;
  readonly limits: Partial<RunLimits>;
  readonly hold: HoldLimits;
  readonly onIncident: (incident: SandboxIncident) => void;
}

export function settingsOf(options: SandboxOptions): SandboxSettings {
  return {
    runner: {
      threads: options.threads ?? Math.min(Math.max(2 * availableParallelism(), 4), MOST_THREADS),
      callsPerThread: options.callsPerThread ?? 16,
      queue: { ...defaultQueueLimits, ...options.queue },
      instances: { ...defaultInstanceLimits, ...options.instances },
      kill: { ...defaultKillLimits, ...options.kill },
    },
    limits: options.limits ?? {},
    hold: { ...defaultHold, ...options.hold },
    onIncident: options.onIncident ?? (() => {}),
  };
}
