import { readFileSync } from "node:fs";

const MB = 1024 * 1024;

/** The server whose counters are read. */
export interface CountedServer {
  readonly adminUrl: string;
  readonly process: { readonly pid?: number | undefined };
}

/** What a server counts about itself. It excludes wall-clock time, which depends on the machine's other load. */
export class ServerCounters {
  readonly #server: CountedServer;

  constructor(server: CountedServer) {
    this.#server = server;
  }

  /** The sum of a metric over all labels that contain these texts, such as `reason="too_slow"`. */
  async metric(name: string, ...labels: readonly string[]): Promise<number> {
    const page = await (await fetch(`${this.#server.adminUrl}/metrics`)).text();
    const lines = page.split("\n").filter((line) => /^[\w:]+/.exec(line)?.[0] === name);
    const fitting = lines.filter((line) => labels.every((label) => line.includes(label)));
    if (lines.length === 0) throw new Error(`there is no metric ${name}`);
    return fitting.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  }

  /** The longest processor time, in milliseconds, for which the event loop was blocked since the last call. */
  async longestHold(): Promise<number> {
    return 1_000 * (await this.metric("cloakroom_event_loop_hold_seconds"));
  }

  /** Megabytes of resident memory now. */
  residentMemory(): number {
    return this.#status("VmRSS");
  }

  /** The peak of resident memory in megabytes. */
  peakMemory(): number {
    return this.#status("VmHWM");
  }

  #status(name: string): number {
    const status = readFileSync(`/proc/${this.#server.process.pid}/status`, "utf8");
    return (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) * 1_024) / MB;
  }
}
