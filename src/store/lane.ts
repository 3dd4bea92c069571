import { type ConnectOptions, connect, type DatabaseAddress, type Sql } from "./connect.js";

/**
 * One connection, used by one flight at a time. After any doubt about the connection its client is thrown away and a
 * new one made: a client that reconnects by itself could send the rest of a transaction outside of one.
 */
export class Lane {
  readonly #address: DatabaseAddress;
  readonly #options: ConnectOptions;
  #sql: Sql;

  constructor(address: DatabaseAddress, options: Omit<ConnectOptions, "connections">) {
    this.#address = address;
    this.#options = { ...options, connections: 1 };
    this.#sql = connect(this.#address, this.#options);
  }

  get sql(): Sql {
    return this.#sql;
  }

  /** Drops the connection; the next flight on this lane opens another. */
  renew(): void {
    const broken = this.#sql;
    this.#sql = connect(this.#address, this.#options);
    broken.end({ timeout: 0 }).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#sql.end({ timeout: 5 });
  }
}
