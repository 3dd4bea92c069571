import { performance } from "node:perf_hooks";
import type { WorkerTask } from "../worker/task.js";
import { chooseIdleThread, chooseThread } from "./placement.js";
import type { RunnerSettings } from "./settings.js";
import type { TaskEnd, Thread } from "./thread.js";
import { WaitingRuns } from "./waiting-runs.js";

export interface ThreadTask {
  readonly task: WorkerTask;
  readonly tenant: string;
  /** Milliseconds after which the task's thread is ended. */
  readonly allowedMs: number;
  /** Called once. `waitedMs` is the time in the queue. */
  readonly onEnd: (end: TaskEnd | { readonly kind: "refused" }, waitedMs: number) => void;
}

interface WaitingTask {
  readonly threadTask: ThreadTask;
  readonly tenant: string;
  readonly bytes: number;
  readonly since: number;
  readonly timer: NodeJS.Timeout;
}

/** Assigns tasks to threads: at once if one is free for them, otherwise in turns. */
export class Dispatcher {
  readonly #threads: readonly Thread[];
  readonly #settings: RunnerSettings;
  readonly #queue: WaitingRuns<WaitingTask>;
  readonly #waiting = new Map<string, WaitingTask>();

  constructor(threads: readonly Thread[], settings: RunnerSettings) {
    this.#threads = threads;
    this.#settings = settings;
    this.#queue = new WaitingRuns(settings.queue);
  }

  get queued(): number {
    return this.#queue.size;
  }

  accept(threadTask: ThreadTask): void {
    const waiting = this.#wait(threadTask);
    // A task that need not wait takes no room in the queue, however much of it others have.
    if (!this.#queue.has(waiting.tenant) && this.#begin(waiting)) {
      this.#keepSpare();
      return;
    }
    if (!this.#queue.add(waiting)) {
      clearTimeout(waiting.timer);
      threadTask.onEnd({ kind: "refused" }, 0);
      return;
    }
    this.#waiting.set(threadTask.task.requestId, waiting);
    this.#dispatch();
  }

  /** @returns whether the task was still waiting; it will not run then. */
  withdraw(requestId: string): boolean {
    const waiting = this.#waiting.get(requestId);
    if (waiting === undefined || !this.#queue.remove(waiting)) return false;
    this.#leave(waiting);
    return true;
  }

  #wait(threadTask: ThreadTask): WaitingTask {
    const { task, tenant } = threadTask;
    const refuse = () => {
      if (this.withdraw(task.requestId)) threadTask.onEnd({ kind: "refused" }, this.#settings.queue.waitMs);
    };
    const isRun = task.kind === "run";
    const bytes = task.code.length + (isRun ? task.args.length : 0);
    // Compilations take turns of their own: one that waits for a free thread does not delay runs that could share one.
    const turns = isRun ? tenant : `compile ${tenant}`;
    return {
      threadTask,
      tenant: turns,
      bytes,
      since: performance.now(),
      timer: setTimeout(refuse, this.#settings.queue.waitMs),
    };
  }

  #leave(waiting: WaitingTask): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting.threadTask.task.requestId);
  }

  #dispatch(): void {
    this.#queue.drain((waiting) => this.#begin(waiting));
    this.#keepSpare();
  }

  /** @returns whether there is a thread for the task. */
  #begin(waiting: WaitingTask): boolean {
    const { task, tenant } = waiting.threadTask;
    const thread =
      task.kind === "run"
        ? chooseThread(this.#threads, tenant, task.key, this.#settings.callsPerThread)
        : chooseIdleThread(this.#threads, tenant);
    if (thread === undefined) return false;
    this.#leave(waiting);
    void this.#run(thread, waiting);
    return true;
  }

  async #run(thread: Thread, { threadTask, since }: WaitingTask): Promise<void> {
    const waitedMs = Math.round(performance.now() - since);
    const end = await thread.run(threadTask.task, threadTask.tenant, threadTask.allowedMs);
    threadTask.onEnd(end, waitedMs);
    this.#dispatch();
  }

  /** Starts a thread in advance, because starting takes some 100 ms. */
  #keepSpare(): void {
    if (this.#threads.some((thread) => thread.isStarted && thread.calls === 0)) return;
    this.#threads.find((thread) => !thread.isStarted)?.start();
  }
}
