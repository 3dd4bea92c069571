import type { Worker } from "node:cluster";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { StoppedAtStart } from "../server/running-server.js";
import type { FromProcess } from "./messages.js";
import { OneProcess, type ProcessEnd, type ProcessReady } from "./one-process.js";
import { ProcessStartError } from "./start-error.js";

/**
 * The delay between the end of a process and the start of its replacement, in milliseconds: none at first, then
 * growing.
 */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
/** A process that lived this long did not fail at its start. */
const HEALTHY_MS = 10_000;
/** Consecutive starts in which a process ended before it accepted requests. */
const MAX_FAILED_STARTS = 5;
const PING_EVERY_MS = 5_000;
/**
 * How long a process may be unresponsive before it is killed. No request may hold the event loop for more than 60 ms;
 * orchestrators also give an unresponsive process 30 s.
 */
const MAX_SILENT_MS = 30_000;
/** Longer than a server waits for its database, which is 5 minutes. */
const MAX_STARTING_MS = 6 * 60_000;

/** How long processes may take, in milliseconds. */
export interface ProcessTimes {
  readonly pingEvery: number;
  /** Without a message, until a process is killed. */
  readonly maxSilent: number;
  /** From its start until it accepts requests. */
  readonly maxStarting: number;
}

const TIMES: ProcessTimes = {
  pingEvery: PING_EVERY_MS,
  maxSilent: MAX_SILENT_MS,
  maxStarting: MAX_STARTING_MS,
};

export interface ProcessGroupOptions {
  readonly count: number;
  readonly log: OperatorLog;
  readonly fork: () => Worker;
  /** Receives a process's messages, except its state, which the group keeps itself. */
  readonly onMessage: (process: OneProcess, message: FromProcess) => void;
  readonly onEnd: (process: OneProcess) => void;
  readonly times?: ProcessTimes;
}

/** Keeps the serving processes alive: starts them, checks that they respond, and replaces those that end. */
export class ProcessGroup {
  readonly #options: ProcessGroupOptions;
  readonly #times: ProcessTimes;
  /** By number. Absent between the end of a process and the start of its replacement. */
  readonly #processes = new Map<number, OneProcess>();
  readonly #failures = new Map<number, { shortLives: number; failedStarts: number }>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  readonly #failed = Promise.withResolvers<string>();
  #pings: NodeJS.Timeout | undefined;
  #lastTick = 0;
  #isStarting = true;
  #isStopping = false;
  /** Processes that ended without being asked to. */
  ended = 0;

  constructor(options: ProcessGroupOptions) {
    this.#options = options;
    this.#times = options.times ?? TIMES;
  }

  /** Resolves to a message for the operator when a process cannot be restarted. */
  get failed(): Promise<string> {
    return this.#failed.promise;
  }

  /** Those that accept requests. */
  get ready(): readonly OneProcess[] {
    return [...this.#processes.values()].filter(({ ready }) => ready !== undefined);
  }

  /**
   * Starts the first process, then the others: an error that affects all of them is reported once.
   * @param stopping ends the wait: those that serve already must not serve until the last one has started.
   * @throws {ProcessStartError} when one of them ends before it accepts requests; {StoppedAtStart}.
   */
  async start(stopping: AbortSignal): Promise<ProcessReady> {
    const stopped = Promise.withResolvers<never>();
    const stop = () => stopped.reject(new StoppedAtStart("stopped while processes started"));
    if (stopping.aborted) stop();
    stopping.addEventListener("abort", stop);
    const first = await Promise.race([stopped.promise, this.#startAll()]);
    stopping.removeEventListener("abort", stop);
    this.#isStarting = false;
    this.#lastTick = performance.now();
    this.#pings = setInterval(() => this.#ping(), this.#times.pingEvery);
    return first;
  }

  async #startAll(): Promise<ProcessReady> {
    const first = await this.#begin(1);
    await Promise.all(Array.from({ length: this.#options.count - 1 }, (_, index) => this.#begin(index + 2)));
    return first;
  }

  /** Stops all of them like a server. Kills those that have not ended by then. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#pings);
    for (const restart of this.#restarts) clearTimeout(restart);
    const processes = [...this.#processes.values()];
    for (const process of processes) process.send({ type: "stop" });
    const late = setTimeout(() => {
      for (const process of processes) process.kill();
    }, withinMs);
    await Promise.all(processes.map(({ ended }) => ended));
    clearTimeout(late);
  }

  async #begin(number: number): Promise<ProcessReady> {
    const ready = Promise.withResolvers<ProcessReady>();
    const process = this.#fork(number, ready.resolve);
    const end = await Promise.race([ready.promise, process.ended]);
    if ("type" in end) return end;
    throw new ProcessStartError(`Process ${number} ended before it took requests (${wordsFor(end)}).`);
  }

  #fork(number: number, onReady?: (ready: ProcessReady) => void): OneProcess {
    const process = new OneProcess(number, this.#options.fork(), {
      onMessage: (from, message) => {
        if (message.type === "hello" && this.#isStopping) return from.send({ type: "stop" });
        if (message.type === "ready") {
          this.#options.log.info({ worker: number, ...pidOf(from) }, "a process takes requests");
          onReady?.(message);
        }
        this.#options.onMessage(from, message);
      },
      onEnd: (ended, end) => this.#replace(ended, end),
    });
    this.#processes.set(number, process);
    return process;
  }

  #replace(process: OneProcess, end: ProcessEnd): void {
    const { number, ready, startedAt } = process;
    this.#processes.delete(number);
    this.#options.onEnd(process);
    // During the start, a process that fails to start ends the whole start.
    if (this.#isStopping || (this.#isStarting && !ready)) return;
    this.ended += 1;
    const isHealthy = ready !== undefined && performance.now() - startedAt > HEALTHY_MS;
    const before = this.#failures.get(number);
    const shortLives = isHealthy ? 0 : (before?.shortLives ?? 0) + 1;
    const failedStarts = ready ? 0 : (before?.failedStarts ?? 0) + 1;
    this.#failures.set(number, { shortLives, failedStarts });
    this.#options.log.warn({ worker: number, ...pidOf(process), reason: wordsFor(end) }, "a process has ended");
    if (failedStarts === MAX_FAILED_STARTS) {
      this.#failed.resolve(`Process ${number} could not be started, ${MAX_FAILED_STARTS} times in a row.`);
      return;
    }
    const pause = shortLives <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (shortLives - 2), MAX_PAUSE_MS);
    const restart = setTimeout(() => {
      this.#restarts.delete(restart);
      this.#fork(number);
    }, pause);
    this.#restarts.add(restart);
  }

  #ping(): void {
    const now = performance.now();
    // If this process itself was delayed, responses may be waiting unread.
    const { pingEvery, maxSilent, maxStarting } = this.#times;
    const isOnTime = now - this.#lastTick < 2 * pingEvery;
    this.#lastTick = now;
    // Also those that are starting: a replacement that hangs would leave its place empty.
    for (const process of this.#processes.values()) {
      if (!isOnTime) process.lastHeard = now;
      const isLate = isOnTime && !process.ready && now - process.startedAt > maxStarting;
      if (isLate || now - process.lastHeard > maxSilent) process.kill();
      else process.send({ type: "ping" });
    }
  }
}

function pidOf({ pid }: OneProcess): { pid?: number } {
  return pid === undefined ? {} : { pid };
}

function wordsFor({ code, signal }: ProcessEnd): string {
  if (signal !== null) return `ended by ${signal}`;
  return code === null ? "could not be made" : `ended with ${code}`;
}
