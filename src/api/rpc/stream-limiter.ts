import { setTimeout as pause } from "node:timers/promises";
import { type Caller, loggedActor } from "../../access/caller.js";
import { Fault } from "../../base/fault.js";

/** Streams of one application or person, and of a process: each holds memory. */
const MAX_PER_ACTOR = 10;
const MAX_PER_PROCESS = 500;

/** The end of a stream and the beginning of another may arrive together. */
const LEAVING_MS = 200;

export class StreamLimiter {
  readonly #byActor = new Map<string, number>();
  #taken = 0;

  /**
   * Takes a place, if need be after a moment: a stream that its caller has just left may not have freed its place yet.
   * Returns a function that frees it, once.
   * @throws {Fault} rate_limited
   */
  async take(caller: Caller): Promise<() => void> {
    try {
      return this.#takeNow(caller);
    } catch {
      await pause(LEAVING_MS);
      return this.#takeNow(caller);
    }
  }

  #takeNow(caller: Caller): () => void {
    const { id } = loggedActor(caller);
    const own = this.#byActor.get(id) ?? 0;
    if (own >= MAX_PER_ACTOR) {
      throw new Fault(
        "rate_limited",
        `An application or person can have ${MAX_PER_ACTOR} streams at once. Close one first.`,
      );
    }
    if (this.#taken >= MAX_PER_PROCESS)
      throw new Fault("rate_limited", "The server has too many streams. Try again later.");
    this.#byActor.set(id, own + 1);
    this.#taken += 1;
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      this.#taken -= 1;
      const left = (this.#byActor.get(id) ?? 1) - 1;
      if (left === 0) this.#byActor.delete(id);
      else this.#byActor.set(id, left);
    };
  }
}
