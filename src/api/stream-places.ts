import type { Caller } from "../access/caller.js";
import { Fault } from "../base/fault.js";

/** Streams of one application, and of a process: each holds memory and looks at the database every second. */
const MOST_PER_APPLICATION = 10;
const MOST_PER_PROCESS = 500;

/** Bounds the streams that are open at once. */
export class StreamPlaces {
  readonly #byApplication = new Map<string, number>();
  #taken = 0;

  /**
   * Takes a place. Returns a function that frees it, once.
   * @throws {Fault} rate_limited
   */
  take({ application: { id } }: Caller): () => void {
    const own = this.#byApplication.get(id) ?? 0;
    if (own >= MOST_PER_APPLICATION) {
      throw new Fault(
        "rate_limited",
        `An application can have ${MOST_PER_APPLICATION} streams at once. Close one first.`,
      );
    }
    if (this.#taken >= MOST_PER_PROCESS)
      throw new Fault("rate_limited", "The server has too many streams. Try again later.");
    this.#byApplication.set(id, own + 1);
    this.#taken += 1;
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      this.#taken -= 1;
      const left = (this.#byApplication.get(id) ?? 1) - 1;
      if (left === 0) this.#byApplication.delete(id);
      else this.#byApplication.set(id, left);
    };
  }
}
