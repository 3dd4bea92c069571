import { setTimeout as pause } from "node:timers/promises";
import type { ConnectOptions, DatabaseAddress } from "./connect.js";
import { ConnectionLost } from "./database-error.js";
import { type Opened, type Opening, openConnection } from "./open-connection.js";

/**
 * After so many transactions a connection plans its statements again. What was planned while a table was empty may walk all
 * of a tenant where one row is to be looked up, and would be kept until the table has statistics, a minute later: 18,000
 * tokens made each read of one take 1,081 us of the database in place of 101.
 */
const PLANS_AGAIN: ReadonlySet<number> = new Set([10, 100, 1_000, 10_000]);

/** A connection in use by one transaction. */
export interface ConnectionLease extends Opened {
  /** Whether its statements are to be planned again. */
  readonly plansAgain: boolean;
}

/** A place for one transaction at a time, with a connection of its own. After any doubt about that it gets a new one. */
export class ConnectionSlot {
  readonly #open: () => Opening;
  #opening: Opening | undefined;
  #opened: Opened | undefined;
  #isClosed = false;
  #transactions = 0;
  #use: Promise<unknown> = Promise.resolve();

  constructor(address: DatabaseAddress, options: Omit<ConnectOptions, "connections">) {
    this.#open = () => openConnection(address, options);
  }

  /**
   * Runs a transaction on the connection, which is opened first where there is none.
   * @throws {ConnectionLost} after `close`; what an attempt to connect failed with.
   */
  run<T>(transaction: (lease: ConnectionLease) => Promise<T>): Promise<T> {
    const running = this.#lease().then(transaction);
    this.#use = running.catch(() => {});
    return running;
  }

  /** Drops the connection, or the attempt to open one; the next transaction opens another. */
  renew(): void {
    this.#opening?.drop();
    this.#opening = undefined;
    this.#opened = undefined;
  }

  /** Ends the connection for good, when its transaction has ended or has taken five seconds more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const tooLate = new AbortController();
    await Promise.race([this.#use, pause(5_000, undefined, tooLate).catch(() => {})]);
    tooLate.abort();
    if (this.#opened) this.#opened.connection.end();
    else this.#opening?.drop();
  }

  async #lease(): Promise<ConnectionLease> {
    if (this.#isClosed) throw new ConnectionLost();
    if (this.#opened?.connection.isLost || this.#opened?.connection.isWornOut) this.renew();
    if (!this.#opened) {
      this.#opening = this.#open();
      this.#transactions = 0;
      this.#opened = await this.#opening.opened;
    }
    this.#transactions += 1;
    return { ...this.#opened, plansAgain: PLANS_AGAIN.has(this.#transactions) };
  }
}
