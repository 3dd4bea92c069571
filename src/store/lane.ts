import type { ConnectOptions, DatabaseAddress, Sql } from "./connect.js";
import { ConnectionLost } from "./database-error.js";
import { connectOnce, type OneConnection } from "./one-connection.js";

/**
 * After so many flights a connection plans its statements anew. What was planned while a table was empty may walk all of a
 * tenant where one row is to be looked up, and would be kept until the table has statistics, a minute later: 18,000 tokens
 * made each read of one take 1,081 us of the database in place of 101.
 */
const PLANS_ANEW: ReadonlySet<number> = new Set([10, 100, 1_000, 10_000]);

/** A place for one flight at a time, with a connection of its own. After any doubt about that it gets a new one. */
export class Lane {
  readonly #open: () => OneConnection;
  #connection: OneConnection | undefined;
  #isClosed = false;
  #flights = 0;
  /** The database's process at the other end, as of the last transaction that began there. */
  backend: number | undefined;

  constructor(address: DatabaseAddress, options: Omit<ConnectOptions, "connections">) {
    this.#open = () => connectOnce(address, options);
  }

  /** @throws {ConnectionLost} after `close`. */
  get sql(): Sql {
    if (this.#isClosed) throw new ConnectionLost();
    if (!this.#connection || this.#connection.isLost) {
      this.#connection = this.#open();
      this.backend = undefined;
      this.#flights = 0;
    }
    return this.#connection.sql;
  }

  /** Counts one more flight on this connection, and tells whether it is to plan its statements anew. */
  takeOff(): { readonly plansAnew: boolean } {
    this.#flights += 1;
    return { plansAnew: PLANS_ANEW.has(this.#flights) };
  }

  /** Drops the connection; the next flight on this lane opens another. */
  renew(): void {
    this.#connection?.drop();
  }

  /** Ends the connection for good, when its flight has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connection?.end(5);
  }
}
