import { setTimeout as pause } from "node:timers/promises";
import type { BenchServer } from "./bench-server.js";
import { Histogram } from "./histogram.js";
import { tenantPlans } from "./many-tenants.js";

const PAUSE_MS = 10;

/** A tenant of its own that reads one card after the other, 10 ms apart, while another tenant does something else. */
export class QuietReader {
  readonly #address: string;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(address: string, headers: Readonly<Record<string, string>>) {
    this.#address = address;
    this.#headers = headers;
  }

  static async of(server: Pick<BenchServer, "host" | "port" | "environment">): Promise<QuietReader> {
    const [, reads] = await tenantPlans(server, 1);
    if (!reads) throw new Error("there is nothing to read");
    const { path, headers } = reads.request(0);
    return new QuietReader(`http://${server.host}:${server.port}${path}`, headers);
  }

  /** Reads until the signal is aborted. @returns p50 and p99 in words. Reads that a killed server lost do not count. */
  async read(signal: AbortSignal): Promise<string> {
    const latencies = new Histogram();
    while (!signal.aborted) {
      const since = performance.now();
      const status = await fetch(this.#address, { headers: this.#headers }).then(
        async (response) => {
          await response.text();
          return response.status;
        },
        () => undefined,
      );
      if (status === 200) latencies.add(performance.now() - since);
      await pause(PAUSE_MS);
    }
    const [p50, p99] = [latencies.percentile(0.5), latencies.percentile(0.99)];
    return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${latencies.count} reads`;
  }
}
