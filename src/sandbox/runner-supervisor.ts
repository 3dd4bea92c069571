import { performance } from "node:perf_hooks";
import type { RunnerSettings } from "./runner/settings.js";
import { whyRunnerDoesNotStart } from "./runner-diagnosis.js";
import type { ExitReason, RunnerLink } from "./runner-link.js";
import { type RunnerExit, RunnerProcess } from "./runner-process.js";
import { type ReadyRunner, RunnerWaiters } from "./runner-waiters.js";
import { type Frame, FrameKind } from "./wire/frame.js";
import { type RunnerHealth, readHealth } from "./wire/messages.js";

/** Pause before a restart of the runner, in milliseconds: none at first, then growing. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
/** A runner that lived this long counts as started. */
const HEALTHY_MS = 10_000;

export interface SupervisorHooks {
  readonly onFrame: (runner: ReadyRunner, frame: Frame) => void;
  readonly onHealth: (health: RunnerHealth) => void;
  /** No further frame of this runner follows. */
  readonly onExit: (exit: EndedRunner) => void;
}

export interface EndedRunner extends Pick<RunnerExit, "code" | "signal" | "cause"> {
  readonly reason: ExitReason;
}

/** Keeps one runner alive: starts it, checks that it responds, and replaces it. */
export class RunnerSupervisor implements RunnerLink {
  readonly #settings: RunnerSettings;
  readonly #hooks: SupervisorHooks;
  readonly #waiting = new RunnerWaiters();
  readonly #pings: NodeJS.Timeout;
  #runner: RunnerProcess | undefined;
  #isReady = false;
  #isClosed = false;
  readonly #closing = new AbortController();
  #problem: string | undefined;
  #startedAt = 0;
  #failedStarts = 0;
  #restart: NodeJS.Timeout | undefined;
  #exitReason: ExitReason | undefined;
  #gone = Promise.withResolvers<void>();
  /** On the clock of performance.now(). */
  #lastPong = 0;
  #lastTick = 0;

  constructor(settings: RunnerSettings, hooks: SupervisorHooks) {
    this.#settings = settings;
    this.#hooks = hooks;
    this.#pings = setInterval(() => this.#ping(), settings.kill.pingMs);
    this.#start();
  }

  ready(withinMs: number): Promise<ReadyRunner | undefined> {
    if (this.#runner && this.#isReady) return Promise.resolve(this.#runner);
    if (this.#isClosed) return Promise.resolve(undefined);
    return this.#waiting.wait(withinMs);
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  kill(reason: ExitReason): void {
    this.#exitReason ??= reason;
    this.#runner?.kill();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.abort();
    clearInterval(this.#pings);
    clearTimeout(this.#restart);
    this.#waiting.settle(undefined);
    if (this.#runner === undefined) return;
    this.#runner.kill();
    await this.#gone.promise;
  }

  #start(): void {
    this.#startedAt = performance.now();
    this.#exitReason = undefined;
    this.#gone = Promise.withResolvers<void>();
    const runner = new RunnerProcess(this.#settings, {
      onFrame: (frame) => this.#receive(runner, frame),
      onExit: (exit) => this.#exited(exit),
    });
    this.#runner = runner;
  }

  #receive(runner: RunnerProcess, frame: Frame): void {
    if (frame.kind === FrameKind.ready) {
      this.#isReady = true;
      this.#problem = undefined;
      this.#lastPong = performance.now();
      this.#waiting.settle(runner);
    } else if (frame.kind === FrameKind.pong) {
      this.#lastPong = performance.now();
      this.#hooks.onHealth(readHealth(frame.payload));
    } else {
      this.#hooks.onFrame(runner, frame);
    }
  }

  #exited({ code, signal, broke, cause }: RunnerExit): void {
    const wasReady = this.#isReady;
    const livedMs = performance.now() - this.#startedAt;
    this.#runner = undefined;
    this.#isReady = false;
    this.#gone.resolve();
    const found = broke ? "protocol" : wasReady ? "crashed" : "not_started";
    if (this.#isClosed) return;
    const reason = this.#exitReason ?? found;
    if (reason === "not_started") void this.#diagnose({ reason, code, signal, cause });
    else this.#hooks.onExit({ reason, code, signal, cause });
    this.#failedStarts = wasReady && livedMs > HEALTHY_MS ? 0 : this.#failedStarts + 1;
    const pause = this.#failedStarts <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (this.#failedStarts - 2), MAX_PAUSE_MS);
    this.#restart = setTimeout(() => this.#start(), pause);
  }

  /** Reports a runner that did not start, with the cause if the next one to try tells it. */
  async #diagnose(exit: EndedRunner): Promise<void> {
    const known = exit.cause ?? (await whyRunnerDoesNotStart(this.#settings, this.#closing.signal));
    if (this.#isClosed) return;
    if (!this.#isReady) this.#problem = known ?? describeExit(exit.code, exit.signal);
    this.#hooks.onExit({ ...exit, cause: known });
  }

  #ping(): void {
    const now = performance.now();
    const { pingMs, silenceMs } = this.#settings.kill;
    // If this process itself was blocked, pongs may be unread: silence then says nothing about the runner.
    const onTime = now - this.#lastTick < 2 * pingMs;
    this.#lastTick = now;
    if (!this.#runner || !this.#isReady) return;
    if (!onTime) this.#lastPong = now;
    else if (now - this.#lastPong > silenceMs) this.kill("silent");
    this.#runner.socket.send(FrameKind.ping);
  }
}

function describeExit(code: number | null, signal: string | null): string {
  return signal === null ? `exit code ${code}` : `ended by ${signal}`;
}
