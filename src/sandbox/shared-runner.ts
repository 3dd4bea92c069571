import { createConnection } from "node:net";
import type { CodeSource } from "./run.js";
import type { ExitReason, RunnerLink } from "./runner-link.js";
import { MAX_FRAME_BYTES } from "./runner-process.js";
import { type ReadyRunner, RunnerWaiters } from "./runner-waiters.js";
import { type Frame, FrameKind } from "./wire/frame.js";
import { FrameSocket } from "./wire/frame-socket.js";

export interface SharedRunnerAccess {
  readonly socketPath: string;
  /** Asks the process that started the runner to replace it. */
  kill(reason: ExitReason): void;
  /** Reports code that ended a thread to the other processes, whose circuit breakers count it too. */
  reportFailure(source: CodeSource): void;
  /** @param count called for each failure that another process reports. */
  onFailure(count: (source: CodeSource) => void): void;
}

export interface SharedRunnerHooks {
  readonly onFrame: (runner: ReadyRunner, frame: Frame) => void;
  /** The runner has ended. No further frame of it follows. */
  readonly onLost: () => void;
}

/** Milliseconds between attempts to connect. A runner takes some 150 ms to start. */
const CONNECT_EVERY_MS = 50;

/** A connection to another process's runner, renewed whenever that process has started another one. */
export class SharedRunner implements RunnerLink {
  readonly #access: SharedRunnerAccess;
  readonly #hooks: SharedRunnerHooks;
  readonly #waiting = new RunnerWaiters();
  #socket: FrameSocket | undefined;
  #ready: ReadyRunner | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(access: SharedRunnerAccess, hooks: SharedRunnerHooks) {
    this.#access = access;
    this.#hooks = hooks;
    this.#connect();
  }

  get isReady(): boolean {
    return this.#ready !== undefined;
  }

  /** The process that starts the runner reports it. */
  readonly problem = undefined;

  ready(withinMs: number): Promise<ReadyRunner | undefined> {
    if (this.#ready || this.#isClosed) return Promise.resolve(this.#ready);
    return this.#waiting.wait(withinMs);
  }

  kill(reason: ExitReason): void {
    this.#access.kill(reason);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#socket?.close();
    this.#ready = undefined;
    this.#waiting.settle(undefined);
  }

  #connect(): void {
    const socket = new FrameSocket(createConnection(this.#access.socketPath), MAX_FRAME_BYTES, {
      onFrame: (frame) => this.#receive({ socket }, frame),
      onEnd: ({ broke }) => this.#ended(broke),
    });
    this.#socket = socket;
  }

  #receive(runner: ReadyRunner, frame: Frame): void {
    if (frame.kind === FrameKind.ready) {
      this.#ready = runner;
      this.#waiting.settle(runner);
    } else {
      this.#hooks.onFrame(runner, frame);
    }
  }

  #ended(broke: boolean): void {
    const wasReady = this.isReady;
    this.#ready = undefined;
    if (this.#isClosed) return;
    if (broke) this.#access.kill("protocol");
    if (wasReady) this.#hooks.onLost();
    this.#retry = setTimeout(() => this.#connect(), CONNECT_EVERY_MS);
  }
}
