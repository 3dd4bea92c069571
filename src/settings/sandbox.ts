import { type Environment, type Name, readWhole } from "./environment.js";

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

/**
 * @throws {ConfigError} of a value that is none. Times end where a run that nobody waits for would outlive its lease of a
 * minute, and be started again elsewhere while it still runs.
 */
export function readSandbox(environment: Environment): SandboxConfig {
  const whole = (name: Name, byDefault: number, least: number, most: number) =>
    readWhole(environment, name, { byDefault, least, most });
  return {
    threads: environment.CLOAKROOM_SANDBOX_THREADS ? whole("SANDBOX_THREADS", 4, 1, 64) : undefined,
    limits: {
      wallMs: whole("SANDBOX_TIMEOUT_MS", 30_000, 100, 30_000),
      memoryBytes: whole("SANDBOX_MEMORY_MB", 128, 16, 1_024) * 1024 * 1024,
    },
    queue: {
      total: whole("SANDBOX_QUEUE", 1_000, 1, 100_000),
      waitMs: whole("SANDBOX_QUEUE_WAIT_MS", 5_000, 100, 10_000),
    },
  };
}
