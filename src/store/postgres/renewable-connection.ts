import type { ConnectOptions, DatabaseAddress, Sql } from "./connect.js";
import { ConnectionLost } from "./database-error.js";
import { connectOnce, type OneConnection } from "./one-connection.js";

/** One connection of the client library, for work without a tenant. It is replaced after it was lost or renewed. */
export class RenewableConnection {
  readonly #open: () => OneConnection;
  #connection: OneConnection | undefined;
  #isClosed = false;

  constructor(address: DatabaseAddress, options: Omit<ConnectOptions, "connections">) {
    this.#open = () => connectOnce(address, options);
  }

  /** @throws {ConnectionLost} after `close`. */
  get sql(): Sql {
    if (this.#isClosed) throw new ConnectionLost();
    if (!this.#connection || this.#connection.isLost) this.#connection = this.#open();
    return this.#connection.sql;
  }

  /** Drops the connection. The next query opens another. */
  renew(): void {
    this.#connection?.drop();
  }

  /** Closes the connection when its query has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connection?.end(5);
  }
}
