import type { InstanceLimits, KillLimits, QueueLimits } from "../limits.js";

/** What the service tells the runner when it starts it. */
export interface RunnerSettings {
  readonly threads: number;
  /** Calls of one tenant that may share a thread while they wait for the host. */
  readonly callsPerThread: number;
  readonly queue: QueueLimits;
  readonly instances: InstanceLimits;
  readonly kill: KillLimits;
}
