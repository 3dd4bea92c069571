import type { InstanceLimits, KillLimits, QueueLimits } from "../limits.js";

export interface RunnerSettings {
  readonly threads: number;
  /** Calls of one tenant that may share a thread while they wait for the host. */
  readonly callsPerThread: number;
  /** Time limit of a compilation in milliseconds. The longest accepted code takes some 10 ms. */
  readonly compileMs: number;
  readonly queue: QueueLimits;
  readonly instances: InstanceLimits;
  readonly kill: KillLimits;
  /** The socket for further processes of the service. Absent: one process uses the runner, over descriptor 3. */
  readonly socketPath?: string;
}
