import { monthStart } from "../../../src/store/audit/log-partitions.js";
import { type Ledger, MINUTE, openLedger } from "./ledger.js";

export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The days for which the tests of retention keep rows. */
export const DAYS = 40;

/** By how many milliseconds the clocks are ahead of the right time. */
interface Ahead {
  readonly servers: number;
  readonly database: number;
}

/** A ledger in the past, whose servers and database have clocks that may be wrong. */
export class WrongClocks {
  readonly ledger: Ledger;
  #truth: number;
  #ahead: Ahead = { servers: 0, database: 0 };

  private constructor(ledger: Ledger, truth: number) {
    this.ledger = ledger;
    this.#truth = truth;
  }

  static async open(): Promise<WrongClocks> {
    const ledger = await openLedger({ hasMovableClock: true });
    // A tenant's id contains its creation time, which must not be before its first seal: all of this is in the past.
    return new WrongClocks(ledger, monthStart(new Date(), -58).getTime() + 2 * DAY);
  }

  /** The right time. */
  get truth(): number {
    return this.#truth;
  }

  /** @param passed milliseconds that go by before. */
  async set(next: Partial<Ahead>, passed = 0): Promise<void> {
    this.#truth += passed;
    this.#ahead = { ...this.#ahead, ...next };
    this.ledger.clock.time = this.#truth + this.#ahead.servers;
    await this.ledger.setDatabaseAhead(this.#truth + this.#ahead.database - Date.now());
  }

  /** Time goes by, and the clocks stay as wrong as they are. */
  wait(milliseconds: number): Promise<void> {
    return this.set({}, milliseconds);
  }

  /** Both are ahead by the same. */
  both(milliseconds: number): Promise<void> {
    return this.set({ servers: milliseconds, database: milliseconds });
  }
}
