import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { AggregatedMetrics } from "../../src/processes/aggregated-metrics.js";

/** The metrics of a process with this count. */
function processWith(count: number) {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: "calls_total", help: "Calls.", labelNames: ["rpc"], registers }).inc({ rpc: "A" }, count);
  new Gauge({ name: "open", help: "Open.", registers }).set(count);
  new Gauge({ name: "oldest", help: "Oldest.", registers, aggregator: "max" }).set(count);
  new Histogram({ name: "seconds", help: "Seconds.", buckets: [1], registers }).observe(count);
  return registry.getMetricsAsJSON();
}

it("sums the metrics of all processes, and keeps the counts of ended ones", async () => {
  const whole = new AggregatedMetrics();
  const page = whole.page(new Registry(), async () => {});
  whole.report(1, await processWith(3));
  whole.report(2, await processWith(5));
  expect(await page.metrics()).toContain('calls_total{rpc="A"} 8');
  expect(await page.metrics()).toContain("open 8");
  expect(await page.metrics()).toContain("oldest 5");

  whole.processEnded(1);
  const without = await page.metrics();
  expect(without).toContain('calls_total{rpc="A"} 8');
  expect(without).toContain("seconds_sum 8");
  expect(without).toContain("seconds_count 2");
  expect(without).toContain("open 5");

  whole.report(1, await processWith(1));
  whole.processEnded(2);
  whole.processEnded(1);
  const after = await page.metrics();
  expect(after).toContain('calls_total{rpc="A"} 9');
  expect(after).toContain('seconds_bucket{le="+Inf"} 3');
  expect(after).not.toMatch(/^open /m);
});
