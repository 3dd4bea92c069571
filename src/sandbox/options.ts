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
import type { ExitReason } from "./runner-link.js";
import type { SharedRunnerAccess } from "./shared-runner.js";

export interface SandboxOptions {
  /** Threads that run code. Default: twice the processors, at least 4 and at most 16. */
  readonly threads?: number | undefined;
  /** Calls of one tenant that may share a thread while they wait for the host. Default 16. */
  readonly callsPerThread?: number;
  /** Time limit of a compilation in milliseconds. Default 1,000. */
  readonly compileMs?: number;
  /** For every run without limits of its own. Defaults: see defaultLimits. */
  readonly limits?: Partial<RunLimits>;
  readonly queue?: Partial<QueueLimits>;
  readonly instances?: Partial<InstanceLimits>;
  readonly kill?: Partial<KillLimits>;
  readonly breaker?: Partial<Breakers>;
  /** A runner started by another process. Absent: the sandbox starts its own. */
  readonly sharedRunner?: SharedRunnerAccess | undefined;
  readonly onIncident?: (incident: SandboxIncident) => void;
}

/** The circuit breaker opens at this many failures within a period in milliseconds. */
export interface BreakerLimits {
  readonly failures: number;
  readonly ms: number;
}

/**
 * Ending a thread costs 100 ms and its warm instances, some of other tenants. A function, or a tenant, whose code ends
 * threads repeatedly is refused for a while. Editing the code does not reset the count.
 */
export interface Breakers {
  /** Threads ended by one function. All compilations of a tenant count as one function. */
  readonly byFunction: BreakerLimits;
  /** Threads ended by all functions of one tenant. */
  readonly byTenant: BreakerLimits;
}

export type SandboxIncident =
  /** Code could not be interrupted; its thread was ended, together with the calls that shared it. */
  | { readonly type: "thread_ended"; readonly tenantId: string; readonly functionId: string }
  /** The breaker of the function opened: it is refused for a while. */
  | { readonly type: "function_held"; readonly tenantId: string; readonly functionId: string }
  /** The breaker of the tenant opened, by several functions: all its code is refused for a while. */
  | { readonly type: "tenant_held"; readonly tenantId: string }
  /** `code` and `signal` as of a child process. `runs` is the number of runs in progress. */
  | {
      readonly type: "runner_exited";
      readonly reason: ExitReason;
      readonly code: number | null;
      readonly signal: string | null;
      /** Why it did not start, in the words of its first error. */
      readonly cause: string | undefined;
      readonly runs: number;
    };

/** Above 16 threads only memory grows (15 MB each): more processors need more runners. */
const MAX_THREADS = 16;

const defaultBreakers: Breakers = {
  byFunction: { failures: 3, ms: 60_000 },
  byTenant: { failures: 6, ms: 120_000 },
};

export type SandboxSettings = ReturnType<typeof sandboxSettings>;

export function sandboxSettings(options: SandboxOptions) {
  return {
    runner: {
      threads: options.threads ?? Math.min(Math.max(2 * availableParallelism(), 4), MAX_THREADS),
      callsPerThread: options.callsPerThread ?? 16,
      compileMs: options.compileMs ?? 1_000,
      queue: { ...defaultQueueLimits, ...options.queue },
      instances: { ...defaultInstanceLimits, ...options.instances },
      kill: { ...defaultKillLimits, ...options.kill },
    },
    sharedRunner: options.sharedRunner,
    limits: options.limits ?? {},
    breaker: { ...defaultBreakers, ...options.breaker },
    onIncident: options.onIncident ?? (() => {}),
  };
}
