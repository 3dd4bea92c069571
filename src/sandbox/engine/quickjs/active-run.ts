import { performance } from "node:perf_hooks";
import type { EngineFailure, EngineResult, EngineRun } from "../engine.js";
import { ConsoleBuffer } from "./console-buffer.js";

export type Outcome =
  | Omit<Extract<EngineResult, { kind: "returned" }>, "console">
  | Omit<Extract<EngineResult, { kind: "threw" }>, "console">
  | Omit<Extract<EngineResult, { kind: "failed" }>, "console">;

/** One call in an instance: its deadline, its console, its timers, and how it ended. */
export class ActiveRun {
  readonly run: EngineRun;
  readonly console: ConsoleBuffer;
  /** On the clock of performance.now(). */
  readonly deadline: number;
  readonly #result = Promise.withResolvers<EngineResult>();
  readonly #timers = new Map<number, NodeJS.Timeout>();
  readonly #wall: NodeJS.Timeout;
  #outcome: Outcome | undefined;
  #hostCalls = 0;
  #awaitedReplies = 0;

  /** @param onTimeout is called when the deadline passes while the code waits. */
  constructor(run: EngineRun, onTimeout: () => void) {
    this.run = run;
    this.console = new ConsoleBuffer(run.limits.consoleBytes);
    this.deadline = performance.now() + run.limits.wallMs;
    this.#wall = setTimeout(onTimeout, run.limits.wallMs);
    run.signal.addEventListener("abort", onTimeout);
  }

  get hasOutcome(): boolean {
    return this.#outcome !== undefined;
  }

  /** Keeps the first outcome. {@link end} returns it when no code of the instance runs any more. */
  decide(outcome: Outcome): void {
    this.#outcome ??= outcome;
  }

  fail(reason: EngineFailure | "not_a_function"): void {
    this.decide({ kind: "failed", reason });
  }

  setTimer(number: number, ms: number, fire: () => void): void {
    if (this.#timers.size >= this.run.limits.timers) return;
    const timer = setTimeout(() => {
      this.#timers.delete(number);
      fire();
    }, ms);
    clearTimeout(this.#timers.get(number));
    this.#timers.set(number, timer);
  }

  clearTimer(number: number): void {
    clearTimeout(this.#timers.get(number));
    this.#timers.delete(number);
  }

  /**
   * Makes a host call, unless the run has reached its limit. The guest counts too; this holds even if code tampered
   * with it.
   */
  callHost(payload: Uint8Array<ArrayBuffer>, deliver: (reply: Uint8Array) => void): void {
    const { hostCalls, hostCallBytes } = this.run.limits;
    this.#hostCalls += 1;
    if (this.#hostCalls > hostCalls || payload.length > hostCallBytes) return;
    this.#awaitedReplies += 1;
    this.run.callHost(payload, (reply) => {
      this.#awaitedReplies -= 1;
      deliver(reply);
    });
  }

  /** Whether neither a timer nor a host reply can make code run again: an awaited promise never settles. */
  get awaitsNothing(): boolean {
    return this.#timers.size === 0 && this.#awaitedReplies === 0;
  }

  /** Returns the outcome. No event of this run reaches the instance afterwards. */
  end(onTimeout: () => void): void {
    clearTimeout(this.#wall);
    this.run.signal.removeEventListener("abort", onTimeout);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    const outcome = this.#outcome ?? { kind: "failed", reason: "killed" };
    this.#result.resolve({ ...outcome, console: this.console.lines });
  }

  get result(): Promise<EngineResult> {
    return this.#result.promise;
  }
}
