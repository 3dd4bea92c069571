import { DAY_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { hasLogRows } from "../../store/audit/audit-logs.js";
import {
  deleteStrayRows,
  dropLogPartition,
  ensureLogPartitions,
  listLogPartitions,
  monthStart,
  partitionsAhead,
  strayMonths,
} from "../../store/audit/log-partitions.js";
import type { Database } from "../../store/database.js";
import type { DatabaseAddress, Sql } from "../../store/postgres/connect.js";
import { connectOnce } from "../../store/postgres/one-connection.js";
import { listKeptLogs } from "../../store/tenancy/operator-tenants.js";
import { LOGS_AT_ONCE } from "./seal-logs.js";

export interface LogMonthsParts {
  readonly database: Pick<Database, "jointly">;
  /** Of the owner of the tables. */
  readonly ownerAddress: DatabaseAddress;
}

/** A month past its retention whose rows are kept for these tenants. */
export interface BlockedMonth {
  readonly month: Date;
  readonly tenants: readonly TenantId[];
}

/** The earliest month that has rows within their retention. Months before it are removed as a whole. */
export function oldestMonth(now: Date, days: number): Date {
  return monthStart(new Date(now.getTime() - days * DAY_MS));
}

/**
 * Makes the log's months ahead of time, and removes those past their retention. A month is removed once the head of each
 * tenant's chain says that its rows may be gone: they are sealed, and in every sink. Until then it stays whole.
 * @param days for which rows are kept; 0 for no limit.
 * @returns the months that had to stay, with the tenants that keep them.
 */
export async function turnLogMonths(
  { database, ownerAddress }: LogMonthsParts,
  { now, days }: { readonly now: Date; readonly days: number },
): Promise<readonly BlockedMonth[]> {
  return asOwner(ownerAddress, async (sql) => {
    await ensureLogPartitions(sql, now);
    if (days === 0) return [];
    // A server with a fast clock must not remove rows early by the database's clock.
    const [clock] = await sql<{ now: Date }[]>`select now() as now`;
    const oldest = oldestMonth(clock && clock.now < now ? clock.now : now, days);
    const blocked: BlockedMonth[] = [];
    for (const partition of await listLogPartitions(sql)) {
      if (partition.until > oldest) continue;
      const tenants = await keeping(database, sql, partition);
      if (tenants.length > 0) blocked.push({ month: partition.from, tenants });
      else await dropLogPartition(sql, partition);
    }
    if (blocked.length > 0 || (await strayMonths(sql)).every((month) => month >= oldest)) return blocked;
    const strayed = await keeping(database, sql, { from: new Date(0), until: oldest });
    if (strayed.length === 0) await deleteStrayRows(sql, oldest);
    return blocked;
  });
}

/** Sentences for the operator about months without a partition, and rows outside of their months. */
export function logMonthWarnings(ownerAddress: DatabaseAddress, now: Date): Promise<readonly string[]> {
  return asOwner(ownerAddress, async (sql) => {
    const known = new Set((await listLogPartitions(sql)).map(({ name }) => name));
    const missing = partitionsAhead(now).filter(({ name }) => !known.has(name));
    const stray = await strayMonths(sql);
    const advice = "Servers repair this within an hour; to do so now, run: cloakroom migrate";
    return [
      ...(missing[0] ? [`The log has no table for ${nameOf(missing[0].from)} yet. ${advice}`] : []),
      ...(stray[0] ? [`Rows of the log from ${nameOf(stray[0])} are in no month's table. ${advice}`] : []),
    ];
  });
}

function nameOf(month: Date): string {
  return month.toISOString().slice(0, 7);
}

/** The tenants with rows in a range that the heads of their chains say must be there. */
async function keeping(
  database: LogMonthsParts["database"],
  sql: Sql,
  { from, until }: { readonly from: Date; readonly until: Date },
): Promise<readonly TenantId[]> {
  const logs = await listKeptLogs(sql, until);
  const kept: TenantId[] = [];
  for (let first = 0; first < logs.length; first += LOGS_AT_ONCE) {
    const batch = logs.slice(first, first + LOGS_AT_ONCE);
    const found = await database.jointly(
      batch.map(({ tenantId, keptFrom }) => ({
        tenantId,
        work: (tx) => tx.query(hasLogRows, { from: keptFrom && keptFrom > from ? keptFrom : from, until }),
      })),
    );
    kept.push(...batch.flatMap(({ tenantId }, index) => (found[index] ? [tenantId] : [])));
  }
  return kept;
}

async function asOwner<T>(address: DatabaseAddress, run: (sql: Sql) => Promise<T>): Promise<T> {
  const connection = connectOnce(address, { statementTimeout: 0 });
  try {
    return await run(connection.sql);
  } finally {
    await connection.end(5);
  }
}
