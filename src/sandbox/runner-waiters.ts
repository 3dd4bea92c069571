import type { FrameSocket } from "./wire/frame-socket.js";

export interface ReadyRunner {
  readonly socket: FrameSocket;
}

export class RunnerWaiters {
  readonly #waiting = new Set<(runner: ReadyRunner | undefined) => void>();

  /** Undefined if there is no runner within this time. */
  wait(withinMs: number): Promise<ReadyRunner | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(undefined), withinMs);
      const settle = (runner: ReadyRunner | undefined) => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(runner);
      };
      this.#waiting.add(settle);
    });
  }

  settle(runner: ReadyRunner | undefined): void {
    for (const settle of [...this.#waiting]) settle(runner);
  }
}
