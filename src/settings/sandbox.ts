import { defaultQueueLimits } from "../sandbox/limits.js";
import { type Environment, readOptionalWhole, readWhole } from "./setting-values.js";

/** @throws {ConfigError} for a value out of its bounds. */
export function readSandbox(environment: Environment) {
  return {
    /** Number of threads that run code; undefined: by the number of processors. */
    threads: readOptionalWhole(environment, "SANDBOX_THREADS"),
    limits: {
      /** Time limit of a run, in milliseconds. */
      wallMs: readWhole(environment, "SANDBOX_TIMEOUT_MS"),
      /** Memory limit of a run, in bytes. */
      memoryBytes: readWhole(environment, "SANDBOX_MEMORY_MB") * 1024 * 1024,
    },
    queue: { total: defaultQueueLimits.total, waitMs: defaultQueueLimits.waitMs },
  };
}
