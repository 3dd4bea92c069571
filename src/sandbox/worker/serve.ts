import { performance } from "node:perf_hooks";
import type { EngineResult } from "../engine/engine.js";
import type { QuickJsEngine } from "../engine/quickjs/quickjs-engine.js";
import type { HostLink } from "./host-link.js";
import type { CompileTask, RunTask, WorkerReport, WorkerTask } from "./task.js";
import type { InstanceInUse, WarmInstances } from "./warm-instances.js";

/** Serves one task. Never throws: the report includes errors. */
export async function serveRunner(
  task: WorkerTask,
  engine: QuickJsEngine,
  warm: WarmInstances,
  link: HostLink,
): Promise<WorkerReport> {
  const signal = link.open(task.requestId);
  try {
    return task.kind === "compile" ? await compile(task, engine) : await run(task, engine, warm, { link, signal });
  } catch {
    // The engine's message for its own failure may quote a tenant's memory.
    return report({ kind: "failed", reason: "killed", console: [] }, false);
  } finally {
    link.close(task.requestId);
  }
}

async function compile({ code, withinMs }: CompileTask, engine: QuickJsEngine): Promise<WorkerReport> {
  const problem = await engine.compile(code, withinMs);
  return report({ kind: "compiled", ...(problem && { problem }) }, true);
}

async function run(
  task: RunTask,
  engine: QuickJsEngine,
  warm: WarmInstances,
  { link, signal }: { readonly link: HostLink; readonly signal: AbortSignal },
): Promise<WorkerReport> {
  const startedAt = performance.now();
  const idle = warm.take(task.key);
  const start = idle ? undefined : await engine.start(task.code, task.limits);
  if (start && start.kind !== "started") {
    const { problem } = start.kind === "does_not_compile" ? start : { problem: undefined };
    const reason = start.kind === "does_not_compile" ? "does_not_compile" : start.reason;
    return report({ kind: "failed", reason, ...(problem && { problem }), console: [] }, true);
  }
  const inUse: InstanceInUse | undefined = idle ?? (start && { instance: start.instance, calls: 0 });
  if (inUse === undefined) throw new Error("an instance is neither idle nor started");
  const result = await inUse.instance.call({
    args: task.args,
    hasApplication: task.hasApplication,
    limits: task.limits,
    cancelled: task.cancelled,
    signal,
    callHost: (payload, deliver) => link.call(task.requestId, payload, deliver),
  });
  const usage = { ms: Math.round(performance.now() - startedAt), memoryBytes: inUse.instance.memoryBytes };
  if (result.kind === "failed") inUse.instance.dispose();
  else warm.give(task.key, inUse);
  return { ...runReport(result, idle === undefined), usage };
}

function runReport(result: EngineResult, cold: boolean): WorkerReport {
  if (result.kind === "failed") return report(result, cold);
  const { value, ...outcome } = result;
  return report(outcome, cold, value);
}

function report(outcome: WorkerReport["outcome"], cold: boolean, value = new Uint8Array(0)): WorkerReport {
  return { outcome, cold, value };
}
