import { setTimeout as pause } from "node:timers/promises";
import type { ConnectOptions, DatabaseAddress } from "./connect.js";
import { ConnectionLost } from "./database-error.js";
import { type Opened, type Opening, openPostgresConnection } from "./open-connection.js";

/**
 * The transaction counts after which a connection plans its statements again. A plan made while a table was empty may
 * scan all rows of a tenant to find one, and would stay until the table has statistics, a minute later: with 18,000
 * tokens, each read of one took 1,081 us in the database instead of 101.
 */
const PLANS_AGAIN: ReadonlySet<number> = new Set([10, 100, 1_000, 10_000]);

export interface ConnectionInUse extends Opened {
  /** Whether to plan its statements again. */
  readonly plansAgain: boolean;
}

/** Runs one transaction at a time on a connection of its own. Replaces the connection if its state is in doubt. */
export class ConnectionSlot {
  readonly #open: () => Opening;
  #opening: Opening | undefined;
  #opened: Opened | undefined;
  #isClosed = false;
  #transactions = 0;
  #use: Promise<unknown> = Promise.resolve();

  constructor(address: DatabaseAddress, options: Omit<ConnectOptions, "connections">) {
    this.#open = () => openPostgresConnection(address, options);
  }

  /**
   * Runs a transaction on the connection, and opens the connection first if necessary.
   * @throws {ConnectionLost} after `close`; otherwise the error of a failed attempt to connect.
   */
  run<T>(transaction: (inUse: ConnectionInUse) => Promise<T>): Promise<T> {
    const running = this.#take().then(transaction);
    this.#use = running.catch(() => {});
    return running;
  }

  /** The database process of the connection, if its commits wait for standbys. */
  get backendWithStandbys(): number | undefined {
    return this.#opened?.hasStandbys ? this.#opened.connection.processId : undefined;
  }

  /** Drops the connection, or the attempt to open one. The next transaction opens another. */
  renew(): void {
    this.#opening?.drop();
    this.#opening = undefined;
    this.#opened = undefined;
  }

  /** Closes the connection when its transaction has ended, or after five seconds. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const tooLate = new AbortController();
    await Promise.race([this.#use, pause(5_000, undefined, tooLate).catch(() => {})]);
    tooLate.abort();
    if (this.#opened) this.#opened.connection.end();
    else this.#opening?.drop();
  }

  async #take(): Promise<ConnectionInUse> {
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
