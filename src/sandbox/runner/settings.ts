import type { InstanceLimits, KillLimits, QueueLimits } from "../limits.js";

/** What the service tells the runner when it starts it. */
export interface RunnerSettings {
  readonly threads: number;
  /** Calls of one tenant that may share a thread while they wait for the host. */
  readonly callsPerThread: number;
  /** Milliseconds that a compilation may take. The longest code that is accepted takes some 10 ms. */
  readonly compileMs: number;
  readonly queue: QueueLimits;
  readonly instances: InstanceLimits;
  readonly kill: KillLimits;
}
