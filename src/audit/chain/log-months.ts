import { DAY_MS } from "../../base/clock.js";
import { type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { hasLogRows } from "../../store/audit/audit-logs.js";
import {
  dropLogPartition,
  hasPartition,
  LOCKED,
  listLogPartitions,
  makeMonthsAhead,
  monthStart,
  monthsAhead,
  type StuckMonth,
} from "../../store/audit/log-partitions.js";
import { deleteStrayRows, ensureLogPartitions, ownsLog, strayMonths } from "../../store/audit/stray-log-rows.js";
import type { Database } from "../../store/database.js";
import type { DatabaseAddress, Sql } from "../../store/postgres/connect.js";
import { connectOnce } from "../../store/postgres/one-connection.js";
import { blindLoginProblem, listKeptLogs } from "../../store/tenancy/operator-tenants.js";
import { LOGS_AT_ONCE } from "./seal-logs.js";

export interface LogMonthsParts {
  readonly database: Pick<Database, "jointly">;
  /** Of a login that may act as the application. */
  readonly address: DatabaseAddress;
  /** Of the owner of the tables. */
  readonly ownerAddress: DatabaseAddress;
}

/** A month past its retention whose rows are kept for these tenants. */
export interface BlockedMonth {
  readonly month: Date;
  readonly tenants: readonly TenantId[];
}

/** What became of the months that are past their retention. */
export interface OldMonths {
  readonly blocked: readonly BlockedMonth[];
  readonly stuck: readonly StuckMonth[];
}

/** The earliest month that has rows within their retention. Months before it are removed as a whole. */
export function oldestMonth(now: Date, days: number): Date {
  return monthStart(new Date(now.getTime() - days * DAY_MS));
}

/**
 * Makes the log's months ahead of time, and those of rows that have none. The first needs no more than the application's
 * rights; without the owner's login rows stay in the default partition.
 * @returns the months that have to wait.
 */
export async function makeLogMonths(
  { address, ownerAddress }: Omit<LogMonthsParts, "database">,
  now: Date,
): Promise<readonly StuckMonth[]> {
  const unmade = await asLogin(address, (sql) => makeMonthsAhead(sql, now), "cloakroom_app");
  if (unmade.some(({ reason }) => reason === LOCKED)) return unmade;
  return asLogin(ownerAddress, async (sql) => ((await ownsLog(sql)) ? ensureLogPartitions(sql, now) : unmade));
}

/**
 * Removes months past their retention. A month is removed once the head of each tenant's chain says that its rows may be
 * gone: they are sealed, and in every sink. Until then it stays whole.
 * @param oldest see {@link oldestMonth}.
 */
export function removeOldMonths({ database, ownerAddress }: LogMonthsParts, oldest: Date): Promise<OldMonths> {
  return asLogin(ownerAddress, async (sql) => {
    const blocked: BlockedMonth[] = [];
    const stuck: StuckMonth[] = [];
    const old = (await listLogPartitions(sql)).filter(({ until }) => until <= oldest);
    if (!(await ownsLog(sql))) {
      return { blocked, stuck: old.map(({ from: month }) => ({ month, reason: NOT_OWNER })) };
    }
    for (const partition of old) {
      const month = partition.from;
      const tenants = await keeping(database, sql, partition);
      const reason = tenants.length > 0 ? undefined : await dropLogPartition(sql, partition);
      if (tenants.length > 0) blocked.push({ month, tenants });
      else if (reason !== undefined) stuck.push({ month, reason });
      if (reason === LOCKED) break;
    }
    const hasStray = (await strayMonths(sql)).some(({ month }) => month < oldest);
    if (!hasStray || blocked.length > 0) return { blocked, stuck };
    const strayed = await keeping(database, sql, { from: new Date(0), until: oldest });
    if (strayed.length === 0) await deleteStrayRows(sql, oldest);
    return { blocked, stuck };
  });
}

/** The tenants whose logs may have rows before a time in some table. */
export function tenantsWithOldMonths(ownerAddress: DatabaseAddress, oldest: Date): Promise<readonly TenantId[]> {
  return asLogin(ownerAddress, async (sql) => {
    if (!(await ownsLog(sql))) return [];
    const hasMonth = (await listLogPartitions(sql)).some(({ until }) => until <= oldest);
    const hasOld = hasMonth || (await strayMonths(sql)).some(({ month }) => month < oldest);
    const logs = hasOld ? await listKeptLogs(sql, oldest) : [];
    return logs.map(({ tenantId }) => tenantId).filter((tenantId) => tenantId !== VAULT_TENANT_ID);
  });
}

/** A month that is past its retention for longer was not archived, sealed or sent, or could not be removed. */
const REMOVED_WITHIN_MS = 2 * DAY_MS;

/**
 * Sentences for the operator about months without a partition, rows outside of their months, and months that stay.
 * @param days for which rows are kept; 0: forever.
 */
export function logMonthWarnings(ownerAddress: DatabaseAddress, now: Date, days: number): Promise<readonly string[]> {
  return asLogin(ownerAddress, async (sql) => {
    const known = await listLogPartitions(sql);
    const missing = monthsAhead(now).find((month) => !hasPartition(known, month));
    const isOwner = await ownsLog(sql);
    const [stray] = isOwner ? await strayMonths(sql) : [];
    const oldest = oldestMonth(new Date(now.getTime() - REMOVED_WITHIN_MS), days);
    const old = known.find(({ until }) => days > 0 && until <= oldest);
    const blind = isOwner ? await blindLoginProblem(sql) : undefined;
    const advice = "Servers repair this within an hour; to do so now, run: cloakroom migrate";
    return [
      ...(missing ? [`The log has no table for ${monthName(missing)} yet. ${advice}`] : []),
      ...(stray ? [`Rows of the log from ${monthName(stray.month)} are in no month's table. ${advice}`] : []),
      ...(old ? [`${monthName(old.from)} of the log is past its retention and still there. ${WHY_THERE}`] : []),
      ...(isOwner ? [] : [NOT_OWNER]),
      ...(blind === undefined ? [] : [blind]),
    ];
  });
}

const WHY_THERE = "A server's log says each hour what it waits for: a seal, a sink, the archive or an operator.";

const NOT_OWNER =
  "The login of DATABASE_URL does not own the tables. A server with it makes the months of the log, but cannot remove those past their retention: give at least one server MIGRATE_DATABASE_URL.";

export function monthName(month: Date): string {
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

async function asLogin<T>(address: DatabaseAddress, run: (sql: Sql) => Promise<T>, role?: "cloakroom_app"): Promise<T> {
  const connection = connectOnce(address, { statementTimeout: 0, ...(role ? { role } : {}) });
  try {
    return await run(connection.sql);
  } finally {
    await connection.end(5);
  }
}
