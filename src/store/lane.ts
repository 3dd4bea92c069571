import type { ConnectOptions, DatabaseAddress, Sql } from "./connect.js";
import { ConnectionLost } from "./database-error.js";
import { connectOnce, type OneConnection } from "./one-connection.js";

/** A place for one flight at a time, with a connection of its own. After any doubt about that it gets a new one. */
export class Lane {
  readonly #open: () => OneConnection;
  #connection: OneConnection | undefined;
  #isClosed = false;
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
    }
    return this.#connection.sql;
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
