import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { HistogramSnapshot } from "../sandbox/histogram.js";
import type { SandboxMetrics } from "../sandbox/metrics.js";

export function gaugeSandbox(registry: Registry, sandbox: { readonly metrics: SandboxMetrics }): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: (metrics: SandboxMetrics) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read(sandbox.metrics));
      },
    });
  const counter = (name: string, help: string, read: (metrics: SandboxMetrics) => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read(sandbox.metrics));
      },
    });
  countRuns(registry, sandbox);
  counter("cloakroom_sandbox_cold_starts_total", "Runs that had to start an instance.", (seen) => seen.coldStarts);
  counter(
    "cloakroom_sandbox_threads_ended_total",
    "Threads ended because their code did not yield.",
    (seen) => seen.threadsEnded,
  );
  counter(
    "cloakroom_sandbox_runners_ended_total",
    "Runner processes that ended unexpectedly.",
    (seen) => seen.runnersEnded,
  );
  gauge("cloakroom_sandbox_runs_in_flight", "Runs in progress, including those that wait.", ({ underWay }) => underWay);
  gauge(
    "cloakroom_sandbox_runner_memory_bytes",
    "Resident memory of the runner.",
    ({ runner }) => runner?.rssBytes ?? 0,
  );
  gauge("cloakroom_sandbox_runner_threads", "Threads of the runner.", ({ runner }) => runner?.threads ?? 0);
  gauge("cloakroom_sandbox_runner_queue_length", "Runs that wait in the runner.", ({ runner }) => runner?.queued ?? 0);
  registry.registerMetric(
    new CountedElsewhere("cloakroom_sandbox_run_duration_seconds", "Duration of runs.", () => sandbox.metrics.duration),
  );
  registry.registerMetric(
    new CountedElsewhere(
      "cloakroom_sandbox_run_wait_seconds",
      "Time that runs waited for a thread.",
      () => sandbox.metrics.wait,
    ),
  );
}

function countRuns(registry: Registry, sandbox: { readonly metrics: SandboxMetrics }): void {
  new Counter({
    name: "cloakroom_sandbox_runs_total",
    help: "Runs of tenants' code, by outcome.",
    labelNames: ["outcome"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(sandbox.metrics.runs)) this.inc({ outcome }, count);
    },
  });
}

/** A histogram of observations that the sandbox keeps. It extends Gauge because the registry only calls `get`. */
class CountedElsewhere extends Gauge<"le"> {
  readonly #shape: Histogram;
  readonly #read: () => HistogramSnapshot;

  constructor(name: string, help: string, read: () => HistogramSnapshot) {
    super({ name, help, registers: [] });
    this.#shape = new Histogram({ name, help, registers: [] });
    this.#read = read;
  }

  override async get() {
    const { buckets, count, sum } = this.#read();
    const shape = await this.#shape.get();
    const row = (suffix: string, value: number, labels: { le?: string | number } = {}) => ({
      metricName: `${shape.name}_${suffix}`,
      value,
      labels,
    });
    return {
      ...shape,
      values: [
        ...buckets.map((bucket) => row("bucket", bucket.count, { le: bucket.le })),
        row("bucket", count, { le: "+Inf" }),
        row("sum", sum),
        row("count", count),
      ],
    };
  }
}
