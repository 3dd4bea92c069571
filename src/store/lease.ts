import type { Uuid } from "../base/ids.js";
import type { Sql } from "./connect.js";

/**
 * Takes a named lock for some time, on the database's clock. No advisory lock: distributed engines keep those per node
 * or not at all.
 * @returns whether `holder` has it now, newly or still.
 */
export async function takeLease(sql: Sql, name: string, holder: Uuid, seconds: number): Promise<boolean> {
  const until = `${seconds} seconds`;
  // now() is not allowed in "do update set" on Citus: the new row brings the time along.
  const rows = await sql`
    insert into leases (name, holder, until) values (${name}, ${holder}, clock_timestamp() + ${until}::interval)
    on conflict (name) do update set holder = excluded.holder, until = excluded.until
    where leases.until < excluded.until - ${until}::interval or leases.holder = excluded.holder
    returning name`;
  return rows.length > 0;
}

export async function releaseLease(sql: Sql, name: string, holder: Uuid): Promise<void> {
  await sql`delete from leases where name = ${name} and holder = ${holder}`;
}
