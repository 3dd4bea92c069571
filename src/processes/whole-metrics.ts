import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from "prom-client";
import type { MetricsPage } from "../api/metrics-route.js";

/** A metric as a process reports it. */
export type MetricSnapshot = MetricObjectWithValues<MetricValue<string>>;

/**
 * The metrics of all processes as one page. What an ended process had counted stays in the sums, as of its last report:
 * Prometheus takes a sum that falls for a restart of the whole, and its rates would jump.
 */
export class WholeMetrics {
  readonly #reported = new Map<number, readonly MetricSnapshot[]>();
  #ended: Promise<readonly MetricSnapshot[]> = Promise.resolve([]);

  report(process: number, metrics: readonly MetricSnapshot[]): void {
    this.#reported.set(process, metrics);
  }

  processEnded(process: number): void {
    const counted = (this.#reported.get(process) ?? []).filter(({ type }) => String(type) !== "gauge");
    this.#reported.delete(process);
    this.#ended = this.#ended.then((before) => AggregatorRegistry.aggregate([before, counted]).getMetricsAsJSON());
  }

  /**
   * @param own metrics of the primary process.
   * @param refresh has every process report.
   */
  page(own: Registry, refresh: () => Promise<unknown>): MetricsPage {
    return {
      contentType: own.contentType,
      metrics: async () => {
        await refresh();
        const all = [await own.getMetricsAsJSON(), await this.#ended, ...this.#reported.values()];
        return AggregatorRegistry.aggregate(all).metrics();
      },
    };
  }
}
