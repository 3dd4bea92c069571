import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from "prom-client";
import type { MetricsPage } from "../api/health/metrics-route.js";

export type MetricSnapshot = MetricObjectWithValues<MetricValue<string>>;

/**
 * The metrics of all processes as one page. The sums keep the last report of an ended process: Prometheus interprets a
 * falling sum as a restart, and its rates would jump.
 */
export class AggregatedMetrics {
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
   * @param refresh requests a report from every process.
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
