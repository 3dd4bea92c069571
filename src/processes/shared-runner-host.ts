import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { SandboxCounters, type SandboxMetrics } from "../sandbox/metrics.js";
import { type SandboxOptions, sandboxSettings } from "../sandbox/options.js";
import type { ExitReason } from "../sandbox/runner-link.js";
import { RunnerSupervisor } from "../sandbox/runner-supervisor.js";

/**
 * The single runner of tenants' code for all processes: a function is warm for all of them, and its threads match the
 * machine. Its socket is in the temporary directory, since the path of a data directory may be too long, inside a
 * directory that only this user may enter.
 */
export class SharedRunnerHost {
  readonly #directory = mkdtempSync(join(tmpdir(), "cloakroom-runner-"));
  readonly #counters = new SandboxCounters();
  readonly #supervisor: RunnerSupervisor;

  constructor(options: SandboxOptions, log: Pick<OperatorLog, "warn">) {
    const settings = { ...sandboxSettings(options).runner, socketPath: this.socketPath };
    this.#supervisor = new RunnerSupervisor(settings, {
      onFrame: () => {},
      onHealth: (health) => {
        this.#counters.runner = health;
      },
      onExit: ({ reason, cause }) => {
        this.#counters.runnerEnded();
        const because = cause === undefined ? {} : { cause };
        log.warn({ reason: `runner_exited: ${reason}`, ...because }, "sandbox incident");
      },
    });
  }

  get socketPath(): string {
    return join(this.#directory, "runner.sock");
  }

  /** Why the runner does not start. Absent once it has started. */
  get problem(): string | undefined {
    return this.#supervisor.problem;
  }

  get metrics(): SandboxMetrics {
    return this.#counters.snapshot(0);
  }

  kill(reason: ExitReason): void {
    this.#supervisor.kill(reason);
  }

  async close(): Promise<void> {
    await this.#supervisor.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
