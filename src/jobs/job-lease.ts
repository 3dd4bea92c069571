import { newUuid } from "../base/ids.js";
import type { Database } from "../store/database.js";

/**
 * Lets one replica at a time do a job: for speed and not for safety, since every step of these jobs can be done twice. A
 * replica that stops gives it up; of one that dies it lapses.
 */
export class JobLease {
  readonly #database: Pick<Database, "lease" | "release">;
  readonly #name: string;
  readonly #seconds: number;
  readonly #holder = newUuid();
  /** When it was last taken or kept, on the clock of performance.now(). */
  #heldAt = Number.NEGATIVE_INFINITY;

  constructor(database: Pick<Database, "lease" | "release">, name: string, seconds: number) {
    this.#database = database;
    this.#name = name;
    this.#seconds = seconds;
  }

  /** Takes or keeps it. Asks the database once in a quarter of its time. @returns whether this process has it. */
  async hold(): Promise<boolean> {
    const now = performance.now();
    if (now - this.#heldAt < this.#seconds * 250) return true;
    const isHeld = await this.#database.lease(this.#name, this.#holder, this.#seconds);
    this.#heldAt = isHeld ? now : Number.NEGATIVE_INFINITY;
    return isHeld;
  }

  /** Never fails: where the database is away it lapses. */
  async release(): Promise<void> {
    if (this.#heldAt === Number.NEGATIVE_INFINITY) return;
    this.#heldAt = Number.NEGATIVE_INFINITY;
    await this.#database.release(this.#name, this.#holder).catch(() => {});
  }
}
