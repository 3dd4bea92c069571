import { type Environment, readOptionalWhole, readWhole } from "./environment.js";

/** What runs of tenants' code may use, as far as the operator says. */
export interface SandboxConfig {
  /** Threads that run code; undefined: as many as fit the processors. */
  readonly threads: number | undefined;
  readonly limits: {
    /** Milliseconds that a run may take. */
    readonly wallMs: number;
    /** Bytes that it may allocate. */
    readonly memoryBytes: number;
  };
  readonly queue: {
    /** Runs that wait for a thread. */
    readonly total: number;
    /** Milliseconds after which one that still waits is refused. */
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
    queue: {
      total: readWhole(environment, "SANDBOX_QUEUE"),
      waitMs: readWhole(environment, "SANDBOX_QUEUE_WAIT_MS"),
    },
  };
}
