import type { GuestImage } from "../engine/quickjs/guest-image.js";
import { type Frame, FrameKind, readParts } from "../wire/frame.js";
import type { FrameSocket } from "../wire/frame-socket.js";
import type { CompileHeader, RunHeader, RunnerHealth } from "../wire/messages.js";
import type { WorkerReport } from "../worker/task.js";
import { Dispatcher, type ThreadTask } from "./dispatcher.js";
import type { RunnerSettings } from "./settings.js";
import { type TaskEnd, Thread } from "./thread.js";

const NOTHING = new Uint8Array(0);

/**
 * The main thread of the runner: passes frames between the processes of the service and the threads, and never runs
 * tenants' code.
 */
export class Runner {
  readonly #settings: RunnerSettings;
  readonly #threads: readonly Thread[];
  readonly #dispatcher: Dispatcher;
  /** The process that waits for each run or compilation: no other gets its frames. */
  readonly #callers = new Map<string, FrameSocket>();
  /** The cancellation flag of each run. */
  readonly #cancelled = new Map<string, Int32Array>();

  constructor(settings: RunnerSettings, image: GuestImage, workerFile: string) {
    this.#settings = settings;
    const hooks = {
      onHostCall: (requestId: string, number: number, payload: Uint8Array) =>
        this.#callers.get(requestId)?.send(FrameKind.hostCall, requestId, payload, number),
      onStuck: () => process.kill(process.pid, "SIGKILL"),
    };
    const worker = { image, instances: settings.instances };
    this.#threads = Array.from(
      { length: settings.threads },
      () => new Thread(workerFile, worker, settings.kill, hooks),
    );
    this.#dispatcher = new Dispatcher(this.#threads, settings);
  }

  /** Starts one thread; the first task starts the next one: see Dispatcher. @throws why threads do not start. */
  async begin(): Promise<void> {
    await this.#threads[0]?.begin();
  }

  /** @param from the process that sent the frame and gets the response. */
  receive(from: FrameSocket, { kind, requestId, number, payload }: Frame): void {
    switch (kind) {
      case FrameKind.run:
        this.#run(from, requestId, payload);
        break;
      case FrameKind.compile:
        this.#compile(from, requestId, payload);
        break;
      case FrameKind.hostReply:
        this.#reply(requestId, number, payload);
        break;
      case FrameKind.cancel:
        this.#cancel(requestId);
        break;
      case FrameKind.ping:
        this.#pong(from);
        break;
    }
  }

  /** Cancels the runs of a process that has ended. */
  forget(from: FrameSocket): void {
    for (const [requestId, caller] of [...this.#callers]) if (caller === from) this.#cancel(requestId);
  }

  #run(from: FrameSocket, requestId: string, payload: Buffer): void {
    const { first, second } = readParts(payload);
    const { tenant, key, code, hasApplication, limits }: RunHeader = JSON.parse(first.toString("utf8"));
    const cancelled = new Int32Array(new SharedArrayBuffer(4));
    this.#cancelled.set(requestId, cancelled);
    const args = new Uint8Array(second);
    const allowedMs = limits.wallMs + limits.loadMs + this.#settings.kill.graceMs;
    this.#accept(from, {
      task: { kind: "run", requestId, key, code, args, hasApplication, limits, cancelled },
      tenant,
      allowedMs,
    });
  }

  #compile(from: FrameSocket, requestId: string, payload: Buffer): void {
    const { tenant, code }: CompileHeader = JSON.parse(payload.toString("utf8"));
    const allowedMs = this.#settings.compileMs + this.#settings.kill.graceMs;
    this.#accept(from, {
      task: { kind: "compile", requestId, code, withinMs: this.#settings.compileMs },
      tenant,
      allowedMs,
    });
  }

  #accept(from: FrameSocket, threadTask: Omit<ThreadTask, "onEnd">): void {
    const { requestId } = threadTask.task;
    this.#callers.set(requestId, from);
    this.#dispatcher.accept({
      ...threadTask,
      onEnd: (end, waitedMs) => {
        this.#drop(requestId);
        this.#report(from, requestId, end, waitedMs);
      },
    });
  }

  #report(to: FrameSocket, requestId: string, end: TaskEnd | { readonly kind: "refused" }, waitedMs: number): void {
    const { outcome, usage, cold, value } = reportOf(end);
    const report = { ...outcome, usage, cold, waitedMs, threadEnded: end.kind === "overran" };
    to.sendParts(FrameKind.result, requestId, Buffer.from(JSON.stringify(report)), value);
  }

  #reply(requestId: string, number: number, payload: Buffer): void {
    // A copy, because the frame may be part of a larger chunk.
    const copy = new Uint8Array(payload);
    for (const thread of this.#threads) thread.post({ type: "hostReply", requestId, number, payload: copy });
  }

  #cancel(requestId: string): void {
    if (this.#dispatcher.withdraw(requestId)) {
      this.#drop(requestId);
      return;
    }
    const cancelled = this.#cancelled.get(requestId);
    if (cancelled) Atomics.store(cancelled, 0, 1);
    for (const thread of this.#threads) thread.post({ type: "cancel", requestId });
  }

  #drop(requestId: string): void {
    this.#callers.delete(requestId);
    this.#cancelled.delete(requestId);
  }

  #pong(to: FrameSocket): void {
    const health: RunnerHealth = {
      rssBytes: process.memoryUsage.rss(),
      threads: this.#threads.filter((thread) => thread.isStarted).length,
      queued: this.#dispatcher.queued,
    };
    to.send(FrameKind.pong, undefined, Buffer.from(JSON.stringify(health)));
  }
}

function reportOf(end: TaskEnd | { readonly kind: "refused" }): WorkerReport {
  if (end.kind === "reported") return end.report;
  const reasons = { overran: "timeout", lost: "killed", refused: "overloaded" } as const;
  return { outcome: { kind: "failed", reason: reasons[end.kind], console: [] }, cold: false, value: NOTHING };
}
