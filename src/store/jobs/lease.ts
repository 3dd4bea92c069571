import { setTimeout as pause } from "node:timers/promises";
import { newUuid } from "../../base/ids.js";
import { type DatabaseAddress, type Sql, soleConnection } from "../postgres/connect.js";

export const SCHEMA_LEASE = "migrate";

/** The lease for changes of a cluster's nodes. */
export const NODES_LEASE = "cluster";

/** Whether some process holds a lease. */
export async function isLeased(sql: Sql, name: string): Promise<boolean> {
  const held = await sql`select 1 from leases where name = ${name} and until > clock_timestamp()`;
  return held.length > 0;
}

type RunQuery = <T>(query: (sql: Sql) => PromiseLike<T>) => Promise<T>;

/**
 * A named lock that expires on the database's clock: released on shutdown, and free again `seconds` after its holder
 * died. It is not an advisory lock, because distributed engines keep those per node or not at all.
 */
export class Lease {
  readonly #run: RunQuery;
  readonly #name: string;
  readonly #seconds: number;
  readonly #holder = newUuid();
  /** The time on the clock of performance.now() until which it is held without asking the database. */
  #freshUntil = Number.NEGATIVE_INFINITY;

  constructor(run: RunQuery, name: string, seconds: number) {
    this.#run = run;
    this.#name = name;
    this.#seconds = seconds;
  }

  /**
   * Acquires or renews the lease. Asks the database once per quarter of its time.
   * @returns whether this process holds it
   */
  async hold(): Promise<boolean> {
    const asked = performance.now();
    if (asked < this.#freshUntil) return true;
    this.#freshUntil = Number.NEGATIVE_INFINITY;
    const isHeld = await this.#run((sql) => this.#acquire(sql));
    // Renewed after a quarter of its time, in milliseconds.
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

  /**
   * An expiry more than twice the lease's time ahead was written while the database's clock was ahead, and is ignored:
   * the holder has renewed it since, or is gone.
   */
  async #acquire(sql: Sql): Promise<boolean> {
    const duration = `${this.#seconds} seconds`;
    // Citus does not allow now() in "do update set", so the new row carries the time.
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
 * Runs something that must not run in two processes at once, and waits while another process runs it. Renews the lease
 * on its own connection meanwhile.
 */
export async function withLease<T>(
  address: DatabaseAddress,
  name: string,
  seconds: number,
  run: () => Promise<T>,
): Promise<T> {
  await using sql = soleConnection(address);
  const lease = new Lease(async (query) => await query(sql), name, seconds);
  while (!(await lease.hold())) await pause(250);
  return await renewing(lease, seconds, run);
}

/** Like {@link withLease}, but does not wait: undefined if another process holds the lease. */
export async function withFreeLease<T>(
  address: DatabaseAddress,
  name: string,
  seconds: number,
  run: () => Promise<T>,
): Promise<T | undefined> {
  await using sql = soleConnection(address);
  const lease = new Lease(async (query) => await query(sql), name, seconds);
  return (await lease.hold()) ? await renewing(lease, seconds, run) : undefined;
}

async function renewing<T>(lease: Lease, seconds: number, run: () => Promise<T>): Promise<T> {
  // If a renewal fails, the next one comes before the lease expires.
  const timer = setInterval(() => void lease.hold().catch(() => {}), (seconds * 1_000) / 4);
  try {
    return await run();
  } finally {
    clearInterval(timer);
    await lease.release();
  }
}
