import { setTimeout as pause } from "node:timers/promises";
import { newUuid, type Uuid } from "../base/ids.js";
import { connect, type DatabaseAddress, type Sql } from "./connect.js";

/** The lease of whatever changes the schema. */
export const SCHEMA_LEASE = "migrate";

/**
 * Takes a named lock for some time, on the database's clock. No advisory lock: distributed engines keep those per node
 * or not at all. A lease that would last more than twice as long as it can be taken for is of a time when that clock ran
 * fast: its holder has prolonged it since, or is gone.
 * @returns whether `holder` has it now, newly or still.
 */
export async function takeLease(sql: Sql, name: string, holder: Uuid, seconds: number): Promise<boolean> {
  const until = `${seconds} seconds`;
  // now() is not allowed in "do update set" on Citus: the new row brings the time along.
  const rows = await sql`
    insert into leases (name, holder, until) values (${name}, ${holder}, clock_timestamp() + ${until}::interval)
    on conflict (name) do update set holder = excluded.holder, until = excluded.until
    where leases.until < excluded.until - ${until}::interval or leases.holder = excluded.holder
      or (${seconds > 0} and leases.until > excluded.until + ${until}::interval)
    returning name`;
  return rows.length > 0;
}

/** Gives a lease up before it lapses. One that another holder has by now stays as it is. */
export async function releaseLease(sql: Sql, name: string, holder: Uuid): Promise<void> {
  await sql`delete from leases where name = ${name} and holder = ${holder}`;
}

/**
 * Runs something that no two processes may do at once, and waits while another does. The lease is prolonged on a
 * connection of its own for as long as that takes; it lapses when this process dies.
 */
export async function underLease<T>(
  address: DatabaseAddress,
  name: string,
  seconds: number,
  run: () => Promise<T>,
): Promise<T> {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  const holder = newUuid();
  try {
    while (!(await takeLease(sql, name, holder, seconds))) await pause(250);
    // One that fails is made up for by the next, while the lease lasts.
    const prolong = () => void takeLease(sql, name, holder, seconds).catch(() => {});
    const timer = setInterval(prolong, (seconds * 1_000) / 4);
    try {
      return await run();
    } finally {
      clearInterval(timer);
      await releaseLease(sql, name, holder);
    }
  } finally {
    await sql.end({ timeout: 5 });
  }
}
