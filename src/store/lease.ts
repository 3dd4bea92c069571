import { setTimeout as pause } from "node:timers/promises";
import { newUuid } from "../base/ids.js";
import { connect, type DatabaseAddress, type Sql } from "./connect.js";

/** The lease of whatever changes the schema. */
export const SCHEMA_LEASE = "migrate";

type RunQuery = <T>(query: (sql: Sql) => PromiseLike<T>) => Promise<T>;

/**
 * A named lock that expires on the database's clock: released on shutdown, and free again `seconds` after its holder died.
 * No advisory lock, because distributed engines keep those per node or not at all.
 */
export class Lease {
  readonly #run: RunQuery;
  readonly #name: string;
  readonly #seconds: number;
  readonly #holder = newUuid();
  /** Until when it is held without asking the database, on the clock of performance.now(). */
  #freshUntil = Number.NEGATIVE_INFINITY;

  constructor(run: RunQuery, name: string, seconds: number) {
    this.#run = run;
    this.#name = name;
    this.#seconds = seconds;
  }

  /** Acquires or renews the lease, in the database once in a quarter of its time. @returns whether this process holds it */
  async hold(): Promise<boolean> {
    const asked = performance.now();
    if (asked < this.#freshUntil) return true;
    this.#freshUntil = Number.NEGATIVE_INFINITY;
    const isHeld = await this.#run((sql) => this.#acquire(sql));
    if (isHeld) this.#freshUntil = asked + this.#seconds * 250;
    return isHeld;
  }

  /** Releases the lease, unless another process holds it by now. Never fails: without a database it expires. */
  async release(): Promise<void> {
    if (this.#freshUntil === Number.NEGATIVE_INFINITY) return;
    this.#freshUntil = Number.NEGATIVE_INFINITY;
    const [name, holder] = [this.#name, this.#holder];
    await this.#run((sql) => sql`delete from leases where name = ${name} and holder = ${holder}`).catch(() => {});
  }

  /** A lease that lasts more than twice its time is from when the clock ran fast: its holder has renewed it since, or is gone. */
  async #acquire(sql: Sql): Promise<boolean> {
    const duration = `${this.#seconds} seconds`;
    // Citus does not allow now() in "do update set": the new row brings the time along.
    const rows = await sql`
      insert into leases (name, holder, until)
      values (${this.#name}, ${this.#holder}, clock_timestamp() + ${duration}::interval)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until
      where leases.until < excluded.until - ${duration}::interval or leases.holder = excluded.holder
        or leases.until > excluded.until + ${duration}::interval
      returning name`;
    return rows.length > 0;
  }
}

/**
 * Runs something that no two processes may do at once, and waits while another does. Renews the lease on its own connection
 * for as long as that takes.
 */
export async function underLease<T>(
  address: DatabaseAddress,
  name: string,
  seconds: number,
  run: () => Promise<T>,
): Promise<T> {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  const lease = new Lease(async (query) => await query(sql), name, seconds);
  try {
    while (!(await lease.hold())) await pause(250);
    // If a renewal fails, the next one comes before the lease expires.
    const timer = setInterval(() => void lease.hold().catch(() => {}), (seconds * 1_000) / 4);
    try {
      return await run();
    } finally {
      clearInterval(timer);
      await lease.release();
    }
  } finally {
    await sql.end({ timeout: 5 });
  }
}
