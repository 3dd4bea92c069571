import { once } from "node:events";
import type { MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import type { KillLimits } from "../limits.js";
import type { ThreadMessage, WorkerMessage, WorkerReport, WorkerSettings, WorkerTask } from "../worker/task.js";
import type { ThreadState } from "./placement.js";

export interface ThreadHooks {
  readonly onHostCall: (requestId: string, number: number, payload: Uint8Array) => void;
  /** The thread did not end when ordered to. It runs native code, which only ending the process stops. */
  readonly onStuck: () => void;
}

/** The end of a task: a report, or the loss of its thread. */
export type TaskEnd =
  | { readonly kind: "reported"; readonly report: WorkerReport }
  /** The code did not stop at its deadline, so the thread was ended. */
  | { readonly kind: "overran" }
  /** Its thread failed, or was ended because of another task. */
  | { readonly kind: "lost" };

interface RunningTask {
  readonly tenant: string;
  readonly isExclusive: boolean;
  readonly allowedMs: number;
  readonly abort: AbortController;
  timer?: NodeJS.Timeout;
  overran: boolean;
}

/** Number of recently used instance keys. More than a thread keeps warm. */
const KEYS = 64;

/**
 * One thread, as a pool of one: a pool of several would choose threads itself, and runs must go to their tenant's
 * thread and warm instance. The pool starts, ends and replaces the thread.
 */
export class Thread implements ThreadState {
  readonly #file: string;
  readonly #settings: WorkerSettings;
  readonly #kill: KillLimits;
  readonly #hooks: ThreadHooks;
  readonly #tasks = new Map<string, RunningTask>();
  readonly #keys = new Set<string>();
  #pool: Piscina<WorkerTask, WorkerReport> | undefined;
  #link: MessagePort | undefined;

  constructor(file: string, settings: WorkerSettings, kill: KillLimits, hooks: ThreadHooks) {
    this.#file = file;
    this.#settings = settings;
    this.#kill = kill;
    this.#hooks = hooks;
  }

  get tenant(): string | undefined {
    const [first] = this.#tasks.values();
    return first?.tenant;
  }

  get isExclusive(): boolean {
    return this.#tasks.values().some(({ isExclusive }) => isExclusive);
  }

  get calls(): number {
    return this.#tasks.size;
  }

  get isReady(): boolean {
    return this.#link !== undefined;
  }

  get isStarted(): boolean {
    return this.#pool !== undefined;
  }

  knows(key: string): boolean {
    return this.#keys.has(key);
  }

  /** Starts the thread, and waits until it takes tasks. @throws what ended it before. */
  async begin(): Promise<void> {
    const pool = this.start();
    if (!this.isReady) await once(pool, "message");
  }

  start(): Piscina<WorkerTask, WorkerReport> {
    if (this.#pool) return this.#pool;
    const pool = new Piscina<WorkerTask, WorkerReport>({
      filename: this.#file,
      minThreads: 1,
      maxThreads: 1,
      concurrentTasksPerWorker: Number.MAX_SAFE_INTEGER,
      // Placement limits the number of tasks; the pool's own rule allows only one abortable task.
      loadBalancer: (_task, [only]) => only ?? null,
      // The thread has timers and messages of its own, so it may not sleep between tasks.
      atomics: "disabled",
      env: {},
      workerData: this.#settings,
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
    });
    pool.on("message", ({ hostLink }: { hostLink: MessagePort }) => this.#connect(hostLink));
    // Tasks get the error themselves; without a listener it would end the runner.
    pool.on("error", () => {});
    this.#pool = pool;
    return pool;
  }

  /** @param allowedMs from the start of the task, after which its thread is ended: deadline, load time and grace (runner.ts). Never rejects. */
  async run(task: WorkerTask, tenant: string, allowedMs: number): Promise<TaskEnd> {
    const isExclusive = task.kind === "compile";
    const running: RunningTask = { tenant, isExclusive, allowedMs, abort: new AbortController(), overran: false };
    this.#tasks.set(task.requestId, running);
    if (task.kind === "run") this.#remember(task.key);
    try {
      return { kind: "reported", report: await this.start().run(task, { signal: running.abort.signal }) };
    } catch {
      return { kind: running.overran ? "overran" : "lost" };
    } finally {
      clearTimeout(running.timer);
      this.#tasks.delete(task.requestId);
    }
  }

  post(message: ThreadMessage): void {
    if (this.#tasks.has(message.requestId)) this.#link?.postMessage(message);
  }

  #connect(link: MessagePort): void {
    this.#link = link;
    link.on("message", (message: WorkerMessage) => {
      const running = this.#tasks.get(message.requestId);
      if (running === undefined) return;
      if (message.type === "hostCall") this.#hooks.onHostCall(message.requestId, message.number, message.payload);
      else running.timer = setTimeout(() => this.#end(running), running.allowedMs);
    });
  }

  /** Ends the thread with all its tasks. The pool starts another. */
  #end(running: RunningTask): void {
    running.overran = true;
    this.#link?.close();
    this.#link = undefined;
    this.#keys.clear();
    for (const worker of this.#pool?.threads ?? []) {
      const stuck = setTimeout(this.#hooks.onStuck, this.#kill.threadExitMs);
      worker.once("exit", () => clearTimeout(stuck));
    }
    running.abort.abort();
  }

  #remember(key: string): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    for (const oldest of this.#keys) {
      if (this.#keys.size <= KEYS) return;
      this.#keys.delete(oldest);
    }
  }
}
