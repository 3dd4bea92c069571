import { findCluster } from "../cluster/find-cluster.js";
import type { Sql, TransactionSql } from "../postgres/connect.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import { retryingLocks } from "../transactions/lock-retries.js";

/** A month of the log, which is a table of its own. Rows without one are in `audit_logs_default`. */
export interface LogPartition {
  readonly name: string;
  /** The first moment of the month (UTC). */
  readonly from: Date;
  /** That of the next one. */
  readonly until: Date;
}

export const DEFAULT_LOG_PARTITION = "audit_logs_default";

/** Months that have their partition before they begin: a vault without a server for that long keeps its partitions. */
const MONTHS_AHEAD = 3;
/** Requests wait for at most this long behind a change to the partitions that waits for a lock, in milliseconds. */
const LOCK_WAIT_MS = 900;
const NAME = /^audit_logs_(\d{4})_(\d{2})$/;

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
  const [, year, month] = NAME.exec(name) ?? [];
  if (year === undefined || month === undefined) return undefined;
  const from = new Date(Date.UTC(Number(year), Number(month) - 1));
  return { name, from, until: monthStart(from, 1) };
}

function partitionOf(time: Date): LogPartition {
  const from = monthStart(time);
  const name = `audit_logs_${from.toISOString().slice(0, 7).replace("-", "_")}`;
  return { name, from, until: monthStart(from, 1) };
}

/** The partitions that should be there at a time. */
export function partitionsAhead(now: Date): readonly LogPartition[] {
  return Array.from({ length: MONTHS_AHEAD + 1 }, (_, months) => partitionOf(monthStart(now, months)));
}

/**
 * Makes the partitions of the present month and the next ones, and those of rows in the default partition, which they
 * take over.
 * @param sql the owner of the tables.
 */
export async function ensureLogPartitions(sql: Sql, now: Date): Promise<void> {
  const stray = (await strayMonths(sql)).map(partitionOf);
  const known = new Set((await listLogPartitions(sql)).map(({ name }) => name));
  for (const partition of [...partitionsAhead(now), ...stray]) {
    if (!known.has(partition.name)) await makePartition(sql, partition);
    known.add(partition.name);
  }
}

/** Makes these partitions in an open transaction, before an import fills them. */
export async function makeEmptyPartitions(sql: Sql, names: readonly string[]): Promise<void> {
  const known = new Set((await listLogPartitions(sql)).map(({ name }) => name));
  for (const name of names) {
    const partition = partitionNamed(name);
    if (partition && !known.has(name)) for (const text of attached(partition)) await sql.unsafe(text);
  }
}

/** The first moments of the months that have rows in the default partition. */
export async function strayMonths(sql: Sql): Promise<readonly Date[]> {
  // Without a lock in the usual case.
  const [size] = await sql<{ bytes: number }[]>`select pg_relation_size(to_regclass('audit_logs_default')) as bytes`;
  const months: Date[] = [];
  if (!size?.bytes) return months;
  await withoutRowSecurity(sql, async (tx) => {
    const rows = await tx<{ month: Date }[]>`
      select distinct date_trunc('month', created_at at time zone 'UTC') at time zone 'UTC' as month
      from audit_logs_default order by 1`;
    months.splice(0, months.length, ...rows.map(({ month }) => month));
  });
  return months;
}

async function makePartition(sql: Sql, partition: LogPartition): Promise<void> {
  await retryingLocks(async () => {
    try {
      await inShortLocks(sql, async (tx) => {
        for (const text of attached(partition)) await tx.unsafe(text);
      });
    } catch (error) {
      // The default partition has rows of the month. Citus moves no rows in a select that inserts.
      if (databaseErrorCode(error) !== "23514" || (await findCluster(sql))) throw error;
      await takeOver(sql, partition);
    }
  });
}

const SECURED = (name: string) => [
  `alter table ${name} enable row level security`,
  `alter table ${name} force row level security`,
];

function attached({ name, from, until }: LogPartition): readonly string[] {
  const bounds = `from ('${from.toISOString()}') to ('${until.toISOString()}')`;
  return [`create table if not exists ${name} partition of audit_logs for values ${bounds}`, ...SECURED(name)];
}

/** Makes a partition from the rows of its month in the default partition. */
async function takeOver(sql: Sql, { name, from, until }: LogPartition): Promise<void> {
  const bounds = `from ('${from.toISOString()}') to ('${until.toISOString()}')`;
  await withoutRowSecurity(sql, async (tx) => {
    const [written] = await tx<{ columns: string }[]>`
      select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
      where attrelid = to_regclass('audit_logs') and attnum > 0 and not attisdropped and attgenerated = ''`;
    const columns = written?.columns ?? "";
    await tx.unsafe("lock table audit_logs_default in access exclusive mode");
    await tx.unsafe(
      `create table ${name} (like audit_logs including defaults including constraints including generated)`,
    );
    await tx.unsafe(`
      with moved as (
        delete from audit_logs_default
        where created_at >= '${from.toISOString()}' and created_at < '${until.toISOString()}' returning *
      ) insert into ${name} (${columns}) select ${columns} from moved`);
    for (const text of SECURED(name)) await tx.unsafe(text);
    await tx.unsafe(`alter table audit_logs attach partition ${name} for values ${bounds}`);
  });
}

/** Removes rows before a time from the default partition: those that were written while clocks were wrong. */
export async function deleteStrayRows(sql: Sql, before: Date): Promise<void> {
  if ((await strayMonths(sql)).every((month) => month >= before)) return;
  await withoutRowSecurity(sql, (tx) => tx`delete from audit_logs_default where created_at < ${before}`);
}

/** Removes a month with all its rows. Waits for transactions that use the log, and lets requests pass meanwhile. */
export async function dropLogPartition(sql: Sql, { name }: LogPartition): Promise<void> {
  await retryingLocks(() => inShortLocks(sql, (tx) => tx.unsafe(`drop table if exists ${name}`)));
}

/** Row-level security applies to the owner too. No other transaction sees the table without it. */
function withoutRowSecurity(sql: Sql, run: (tx: TransactionSql) => PromiseLike<unknown>): Promise<void> {
  return retryingLocks(() =>
    inShortLocks(sql, async (tx) => {
      await tx.unsafe("alter table audit_logs_default no force row level security");
      await run(tx);
      await tx.unsafe("alter table audit_logs_default force row level security");
    }),
  );
}

async function inShortLocks(sql: Sql, run: (tx: TransactionSql) => PromiseLike<unknown>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe(`set local lock_timeout = ${LOCK_WAIT_MS}`);
    await run(tx);
  });
}
