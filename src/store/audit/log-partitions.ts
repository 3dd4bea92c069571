import type { Sql, TransactionSql } from "../postgres/connect.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import { retryingLocks } from "../transactions/lock-retries.js";

/** A month of the log, which is a table of its own, or several in one. Rows without one are in `audit_logs_default`. */
export interface LogPartition {
  readonly name: string;
  /** The first moment of its first month (UTC). */
  readonly from: Date;
  /** That of the month after its last. */
  readonly until: Date;
}

/** A change to a month's table that failed now, and is tried again. */
export interface StuckMonth {
  readonly month: Date;
  readonly reason: string;
}

/** Months that have their partition before they begin: a vault without a server for that long keeps its partitions. */
const MONTHS_AHEAD = 3;
/**
 * Requests wait for at most this long behind a change to the partitions that waits for a lock, in milliseconds. A backup
 * holds locks on all of them for hours: the next run is the retry.
 */
const LOCK_WAIT_MS = 100;
/** Requests wait for at most this long behind a change that has its locks. On the nodes of a cluster it takes longer. */
const LOCKED_MS = 1_000;
const LOCKED_ON_NODES_MS = 10_000;
const ATTEMPTS = 3;
const NAME = /^audit_logs_(\d{4})_(\d{2})(?:_to_(\d{4})_(\d{2}))?$/;

/** The first moment of the month of a time, or of a month before or after it. */
export function monthStart(time: Date, months = 0): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months));
}

/** The months of the log that have a partition, oldest first. */
export async function listLogPartitions(sql: Sql): Promise<readonly LogPartition[]> {
  const rows = await sql<{ name: string }[]>`
    select c.relname::text as name from pg_inherits join pg_class c on c.oid = inhrelid
    where inhparent = to_regclass('audit_logs') order by c.relname`;
  return rows.map(({ name }) => partitionNamed(name)).filter((partition) => partition !== undefined);
}

/** The partition of this name; undefined if a partition has another one. */
export function partitionNamed(name: string): LogPartition | undefined {
  const [, year, month, lastYear = year, lastMonth = month] = NAME.exec(name) ?? [];
  if (year === undefined || month === undefined) return undefined;
  const from = new Date(Date.UTC(Number(year), Number(month) - 1));
  return { name, from, until: monthStart(new Date(Date.UTC(Number(lastYear), Number(lastMonth) - 1)), 1) };
}

/** The partition of these months, the last of which ends at `until`. */
export function monthsPartition(from: Date, until = monthStart(from, 1)): LogPartition {
  const last = monthStart(until, -1);
  const suffix = last > from ? `_to_${written(last)}` : "";
  return { name: `audit_logs_${written(from)}${suffix}`, from, until };
}

function written(month: Date): string {
  return month.toISOString().slice(0, 7).replace("-", "_");
}

/** Whether some of these partitions has rows of a time. */
export function hasPartition(partitions: readonly LogPartition[], time: Date): boolean {
  return partitions.some(({ from, until }) => from <= time && time < until);
}

/** The first moments of the months that should have a partition at a time. */
export function monthsAhead(now: Date): readonly Date[] {
  return Array.from({ length: MONTHS_AHEAD + 1 }, (_, months) => monthStart(now, months));
}

/**
 * Makes the partitions of the present month and the next ones.
 * @param sql any login that may act as the application, as that or itself.
 * @returns those that could not be made. Rows of theirs go to the default partition.
 */
export async function makeMonthsAhead(sql: Sql, now: Date): Promise<readonly StuckMonth[]> {
  const stuck: StuckMonth[] = [];
  const known = await listLogPartitions(sql);
  for (const month of monthsAhead(now)) {
    if (hasPartition(known, month)) continue;
    const reason = await whyStuck(() => inShortLocks(sql, (tx) => tx`select make_log_month(${month})`));
    // Another process may have made it meanwhile.
    if (reason !== undefined && !hasPartition(await listLogPartitions(sql), month)) stuck.push({ month, reason });
    if (reason === LOCKED) break;
  }
  return stuck;
}

/** Makes these partitions in an open transaction, before an import fills them. */
export async function makeEmptyPartitions(sql: Sql, names: readonly string[]): Promise<void> {
  const known = [...(await listLogPartitions(sql))];
  for (const partition of names.map(partitionNamed)) {
    if (!partition) continue;
    const { name, from, until } = partition;
    if (known.some((other) => other.from < until && from < other.until)) continue;
    await sql.unsafe(`create table ${name} partition of audit_logs ${partitionBounds(partition)}`);
    for (const text of secured(name)) await sql.unsafe(text);
    known.push(partition);
  }
}

/**
 * Removes a month with all its rows. It lets requests pass while it waits for transactions that use the log.
 * @returns why it could not be removed now; undefined if it is gone.
 */
export function dropLogPartition(sql: Sql, { name }: LogPartition): Promise<string | undefined> {
  return whyStuck(() => inShortLocks(sql, (tx) => tx.unsafe(`drop table if exists ${name}`)));
}

export function partitionBounds({ from, until }: Pick<LogPartition, "from" | "until">): string {
  return `for values from ('${from.toISOString()}') to ('${until.toISOString()}')`;
}

export function secured(table: string): readonly string[] {
  return [`alter table ${table} enable row level security`, `alter table ${table} force row level security`];
}

/** Changes partitions in a transaction that waits shortly for locks, and does not hold them for long. */
export function inShortLocks(sql: Sql, run: (tx: TransactionSql) => PromiseLike<unknown>): Promise<void> {
  const change = async () => {
    await sql.begin(async (tx) => {
      await tx.unsafe(`set local lock_timeout = ${LOCK_WAIT_MS}`);
      await tx`
        select set_config('statement_timeout', case
          when exists (select from pg_extension where extname = 'citus') then ${LOCKED_ON_NODES_MS}::text
          else ${LOCKED_MS}::text end, true)`;
      await run(tx);
    });
  };
  return retryingLocks(change, ATTEMPTS);
}

/** Rows of a month changed during a change to its table. */
export class MonthInUse extends Error {
  override readonly name = "MonthInUse";
}

/** Runs a change to a month's table. @returns why the database refused it, for the operator. */
export async function whyStuck(change: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await change();
    return undefined;
  } catch (error) {
    if (error instanceof MonthInUse) return error.message;
    const code = databaseErrorCode(error);
    if (!/^[0-9A-Z]{5}$/.test(code)) throw error;
    return REASONS[code] ?? `the database answers ${code}`;
  }
}

/** The reason if a reader of hours is in the way. Trying more in the same run would only delay requests. */
export const LOCKED = "another transaction uses the log, such as a backup";

const REASONS: Readonly<Record<string, string>> = {
  "22023": "it is more than five years from the database's clock",
  "23514": "rows of it are in audit_logs_default, or just came there",
  "40P01": "other transactions were in the way",
  "42501": "the login may not change the log's tables. Use that of MIGRATE_DATABASE_URL",
  "42883": "the function make_log_month is missing. Run: cloakroom migrate",
  "42P07": "a table of its name is no part of the log. Move it to another schema, or rename it",
  "55P03": LOCKED,
  "57014": "audit_logs_default has too many rows to look through while requests wait",
};
