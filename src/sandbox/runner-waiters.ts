import type { FrameSocket } from "./wire/frame-socket.js";

/** A runner that takes runs. */
export interface ReadyRunner {
  readonly socket: FrameSocket;
}

/** Those who wait for a runner while it is being started. */
export class RunnerWaiters {
  readonly #waiting = new Set<(runner: ReadyRunner | undefined) => void>();

  /** Undefined when there is no runner within this time. */
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
