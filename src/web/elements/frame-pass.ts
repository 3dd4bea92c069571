import { messageFields, textIn } from "./messages-in.js";

/** How long before its end a pass is renewed, in milliseconds: two tries fit in. */
const AHEAD_MS = 5 * 60_000;
/** A pass from a clock far from this one is renewed at this pace. */
const SHORTEST_MS = 30_000;

/**
 * The pass of the controller, which the vault gave with its document. A copy is worth little, because it soon ends; it is
 * renewed while the page is open, for at most twelve hours.
 */
export class FramePass {
  #pass: string;
  readonly #renew: (pass: string) => Promise<unknown>;
  #renewing: Promise<void> | undefined;
  #since = clocks();
  readonly #life: number;

  /** @param renew asks the vault for the next pass, which its response holds. */
  constructor(pass: string, renew: (pass: string) => Promise<unknown>) {
    this.#pass = pass;
    this.#renew = renew;
    const [start = 0, until = 0] = pass.split(".", 2).map((text) => Number.parseInt(text, 36));
    // Times of the vault's clock: only their distance counts here.
    this.#life = Math.max(until - start - AHEAD_MS, SHORTEST_MS) || SHORTEST_MS;
  }

  /** The pass for a request that begins now. Renewed before, if it ends soon: also after a computer was asleep. */
  async current(): Promise<string> {
    const now = clocks();
    if (now.some((time, index) => time - (this.#since[index] ?? 0) >= this.#life)) {
      this.#renewing ??= this.#next().finally(() => {
        this.#renewing = undefined;
      });
      await this.#renewing;
    }
    return this.#pass;
  }

  async #next(): Promise<void> {
    const pass = textIn(messageFields(await this.#renew(this.#pass)).pass);
    if (pass === undefined) return;
    this.#pass = pass;
    this.#since = clocks();
  }
}

/** One clock may be set, and in some browsers the other stops while the computer sleeps. */
function clocks(): readonly number[] {
  return [Date.now(), performance.now()];
}
