import { findCluster } from "../cluster/find-cluster.js";
import type { Sql, TransactionSql } from "../postgres/connect.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import {
  hasPartition,
  inShortLocks,
  LOCKED,
  type LogPartition,
  listLogPartitions,
  MonthInUse,
  makeMonthsAhead,
  monthStart,
  monthsAhead,
  monthsPartition,
  partitionBounds,
  type StuckMonth,
  secured,
  whyStuck,
} from "./log-partitions.js";

/** Rows of a month in the default partition: its table was not made in time, or a server's clock is wrong. */
export interface StrayMonth {
  readonly month: Date;
  readonly rows: number;
}

/** Rows that are moved while requests wait: it takes some 100 ms. */
const MOVED_ROWS = 1_000;
const SPAN_CHECK = "audit_logs_default_span";
const NEXT_DEFAULT = "audit_logs_default_next";

/**
 * Makes the partitions of the present month and the next ones, and gives rows in the default partition one.
 * @param sql the owner of the tables.
 * @returns the months for which that failed. Their rows stay where they are, and are found there.
 */
export async function ensureLogPartitions(sql: Sql, now: Date): Promise<readonly StuckMonth[]> {
  const unmade = await makeMonthsAhead(sql, now);
  if (unmade.some(({ reason }) => reason === LOCKED)) return unmade;
  const stray = await settleStrayRows(sql, now);
  // Rows of theirs may have been in the way.
  const still = unmade.length > 0 ? await makeMonthsAhead(sql, now) : [];
  return [...still, ...stray];
}

/** Whether the login may change the log's partitions, and sees the rows in the default one. */
export async function ownsLog(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ owns: boolean }[]>`
    select pg_has_role(relowner, 'USAGE') as owns from pg_class where oid = to_regclass('audit_logs')`;
  return row?.owns ?? false;
}

/** The months that have rows in the default partition, oldest first. */
export async function strayMonths(sql: Sql): Promise<readonly StrayMonth[]> {
  const [any] = await sql`select 1 from audit_logs_default limit 1`;
  if (!any) return [];
  return sql<StrayMonth[]>`
    select date_trunc('month', created_at, 'UTC') as month, count(*) as rows from audit_logs_default
    group by 1 order by 1`;
}

async function settleStrayRows(sql: Sql, now: Date): Promise<readonly StuckMonth[]> {
  await removeSpanCheck(sql);
  const stray = await strayMonths(sql);
  const stuck: StuckMonth[] = [];
  const few = stray.filter(({ rows }) => rows <= MOVED_ROWS);
  const isDistributed = few.length > 0 && (await isLogDistributed(sql));
  for (const { month } of few) {
    const reason = await whyStuck(() =>
      inShortLocks(sql, (tx) => moveMonth(tx, monthsPartition(month), isDistributed)),
    );
    if (reason !== undefined) stuck.push({ month, reason });
    if (reason === LOCKED) return stuck;
  }
  // An attached month looks through the pages of the default partition, also through empty ones.
  if (few.length > stuck.length) await vacuumDefault(sql);
  const many = stray.filter(({ rows }) => rows > MOVED_ROWS).map(({ month }) => month);
  const [first] = many;
  if (!first) return stuck;
  const reason = await whyKept(sql, many, now);
  return reason === undefined ? stuck : [...stuck, { month: first, reason }];
}

/**
 * Moves the rows of a month to a table of their own, by this client: Citus moves none from one table to another. A row
 * that came meanwhile makes the attachment fail.
 */
async function moveMonth(tx: TransactionSql, partition: LogPartition, isDistributed: boolean): Promise<void> {
  const { name, from, until } = partition;
  // Statements on many nodes, one of which changes a table.
  if (isDistributed) await tx.unsafe("set local citus.multi_shard_modify_mode = 'sequential'");
  await makeTable(tx, name, isDistributed);
  const [written] = await tx<{ columns: string }[]>`
    select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
    where attrelid = to_regclass('audit_logs') and attnum > 0 and not attisdropped and attgenerated = ''`;
  const columns = written?.columns ?? "";
  await tx.unsafe("lock table audit_logs_default in access exclusive mode");
  const found = await tx<{ row: string }[]>`
    select to_jsonb(moved)::text as row from audit_logs_default moved
    where created_at >= ${from} and created_at < ${until}`;
  const rows = `[${found.map(({ row }) => row).join(",")}]`;
  const { count } = await tx`
    delete from audit_logs_default where created_at >= ${from} and created_at < ${until} and (tenant_id, id) in (
      select (row ->> 'tenant_id')::uuid, (row ->> 'id')::uuid from jsonb_array_elements(${rows}::text::jsonb) row)`;
  if (count !== found.length) throw new MonthInUse("its rows changed while they were moved");
  await tx.unsafe(
    `insert into ${name} (${columns}) select ${columns} from jsonb_populate_recordset(null::${name}, $1::text::jsonb)`,
    [rows],
  );
  for (const text of secured(name)) await tx.unsafe(text);
  await tx.unsafe(`alter table audit_logs attach partition ${name} ${partitionBounds(partition)}`);
}

async function makeTable(tx: TransactionSql, name: string, isDistributed: boolean): Promise<void> {
  await tx.unsafe(`create table ${name} (like audit_logs including all)`);
  if (!isDistributed) return;
  await tx.unsafe(`select create_distributed_table('${name}', 'tenant_id', colocate_with => 'tenants')`);
}

async function isLogDistributed(sql: Sql): Promise<boolean> {
  if (!(await findCluster(sql))) return false;
  const [found] = await sql`select 1 from pg_dist_partition where logicalrelid = to_regclass('audit_logs')`;
  return found !== undefined;
}

/** Gives months with many rows a partition. @returns why it cannot. */
async function whyKept(sql: Sql, many: readonly Date[], now: Date): Promise<string | undefined> {
  const known = await listLogPartitions(sql);
  const span = freeSpan(many, known, now);
  if (!span) return "its rows are too many to move, and months between them have their tables";
  return whyStuck(() => promoteDefault(sql, span));
}

/**
 * The months of the partition that the default one becomes: also the present and the next one, if these have none. Not
 * from the past to a wrong clock's future: it would be kept until then.
 */
function freeSpan(many: readonly Date[], known: readonly LogPartition[], now: Date): LogPartition | undefined {
  const [first, last] = [many[0], many.at(-1)];
  if (!first || !last) return undefined;
  const soon = monthsAhead(now).slice(0, 2);
  const missing = soon.filter((month) => !hasPartition(known, month));
  const lastMonth = new Date(Math.max(last.getTime(), ...missing.map((month) => month.getTime())));
  const span = monthsPartition(first, monthStart(lastMonth, 1));
  const isFree = !known.some(({ from, until }) => from < span.until && span.from < until);
  const isOfOneTime = span.until <= monthStart(now, 2) || first > now;
  return isFree && isOfOneTime && missing.every((month) => hasPartition([span], month)) ? span : undefined;
}

/**
 * Makes the default partition that of a span of months, and an empty one the default. No row moves, so it takes as long
 * for any number of them, and requests wait for milliseconds. First a check proves that it has no rows of other months:
 * until it is done, a row of another month that has no table, by a clock that is wrong by a month, is refused.
 */
async function promoteDefault(sql: Sql, span: LogPartition): Promise<void> {
  const { name, from, until } = span;
  const isDistributed = await isLogDistributed(sql);
  const check = `check (created_at >= '${from.toISOString()}' and created_at < '${until.toISOString()}')`;
  await inShortLocks(sql, (tx) =>
    tx.unsafe(`alter table audit_logs_default add constraint ${SPAN_CHECK} ${check} not valid`),
  );
  try {
    await sql.unsafe(`alter table audit_logs_default validate constraint ${SPAN_CHECK}`);
    await inShortLocks(sql, async (tx) => {
      await makeTable(tx, NEXT_DEFAULT, isDistributed);
      for (const text of secured(NEXT_DEFAULT)) await tx.unsafe(text);
      await tx.unsafe(`create policy of_operator on ${NEXT_DEFAULT} to current_user using (true)`);
      await tx.unsafe("alter table audit_logs detach partition audit_logs_default");
      await tx.unsafe(`alter table audit_logs_default rename to ${name}`);
      await tx.unsafe(`drop policy of_operator on ${name}`);
      await tx.unsafe(`alter table audit_logs attach partition ${name} ${partitionBounds(span)}`);
      await tx.unsafe(`alter table ${name} drop constraint ${SPAN_CHECK}`);
      await tx.unsafe(`alter table ${NEXT_DEFAULT} rename to audit_logs_default`);
      await tx.unsafe("alter table audit_logs attach partition audit_logs_default default");
    });
  } catch (error) {
    await removeSpanCheck(sql);
    throw error;
  }
}

/** A process that was killed has left it. */
async function removeSpanCheck(sql: Sql): Promise<void> {
  const [left] = await sql`
    select 1 from pg_constraint where conrelid = to_regclass('audit_logs_default') and conname = ${SPAN_CHECK}`;
  if (!left) return;
  await whyStuck(() =>
    inShortLocks(sql, (tx) => tx.unsafe(`alter table audit_logs_default drop constraint if exists ${SPAN_CHECK}`)),
  );
}

/** Removes rows before a time from the default partition: those that were written while clocks were wrong. */
export async function deleteStrayRows(sql: Sql, before: Date): Promise<void> {
  const [old] = await sql`select 1 from audit_logs_default where created_at < ${before} limit 1`;
  if (!old) return;
  await sql`delete from audit_logs_default where created_at < ${before}`;
  await vacuumDefault(sql);
}

/** Gives empty pages back. It waits for no lock that a request holds. */
async function vacuumDefault(sql: Sql): Promise<void> {
  await sql.unsafe("vacuum (truncate, skip_locked) audit_logs_default").catch((error: unknown) => {
    if (databaseErrorCode(error) === "unknown") throw error;
  });
}
