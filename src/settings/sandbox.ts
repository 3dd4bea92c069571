import { defaultQueueLimits } from "../sandbox/limits.js";
import { type Environment, readOptionalWhole, readWhole } from "./setting-values.js";

export interface SandboxConfig {
  /** Number of threads that run code; undefined: by the number of processors. */
  readonly threads: number | undefined;
  readonly limits: {
    /** Time limit of a run, in milliseconds. */
    readonly wallMs: number;
    /** Memory limit of a run, in bytes. */
    readonly memoryBytes: number;
  };
  readonly queue: {
    readonly total: number;
    /** Longest wait for a thread, in milliseconds. */
    readonly waitMs: number;
  };
}

/** @throws {ConfigError} for a value out of its bounds. */
export function readSandbox(environment: Environment): SandboxConfig {
  return {
    threads: readOptionalWhole(environment, "SANDBOX_THREADS"),
    limits: {
      wallMs: readWhole(environment, "SANDBOX_TIMEOUT_MS"),
      memoryBytes: readWhole(environment, "SANDBOX_MEMORY_MB") * 1024 * 1024,
    },
    queue: { total: defaultQueueLimits.total, waitMs: defaultQueueLimits.waitMs },
  };
}
