import { performance } from "node:perf_hooks";
import { parentPort, workerData } from "node:worker_threads";
import { move, transferableSymbol, valueSymbol } from "piscina";
import { QuickJsEngine } from "../engine/quickjs/quickjs-engine.js";
import { HostLink } from "./host-link.js";
import { serveRunner } from "./serve.js";
import type { WorkerReport, WorkerSettings, WorkerTask } from "./task.js";
import { WarmInstances } from "./warm-instances.js";

const { image, instances }: WorkerSettings = workerData;
const engine = new QuickJsEngine(image);
const link = new HostLink();
const warm = new WarmInstances(instances, () => performance.now());
setInterval(() => warm.sweep(), Math.min(instances.idleMs, 30_000)).unref();
parentPort?.postMessage({ hostLink: link.remote }, [link.remote]);

/** The task function of the pool. The value is moved rather than copied. */
export default async function (task: WorkerTask): Promise<unknown> {
  const report = await serveRunner(task, engine, warm, link);
  return move(new Moved(report));
}

class Moved {
  readonly #report: WorkerReport;

  constructor(report: WorkerReport) {
    this.#report = report;
  }

  get [transferableSymbol]() {
    return this.#report.value.buffer;
  }

  get [valueSymbol]() {
    return this.#report;
  }
}
