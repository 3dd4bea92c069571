import { setTimeout as pause } from "node:timers/promises";
import type { PendingQuery, Row } from "postgres";
import type { TenantId } from "../../base/ids.js";
import { APPLICATION_NAME, type DatabaseAddress, type Sql } from "../postgres/connect.js";
import { connectOnce, type OneConnection } from "../postgres/one-connection.js";
import type { CommitMarker } from "./transaction.js";

/** Commits of a session that were sent but not acknowledged. */
export interface UnknownCommits {
  /** A log row that each of the transactions wrote. */
  readonly rows: readonly MarkedRow[];
  /** The database process that received the commits. */
  readonly backend: number;
}

export interface MarkedRow {
  readonly tenantId: TenantId;
  readonly marker: CommitMarker;
}

/**
 * Returns for each row whether its commit was carried out, and is as durable as the database's own settings promise. The
 * result is final: nothing in the transactions can happen afterwards.
 * @throws if the database does not respond, its process does not end, or a synchronous standby does not confirm. The
 *   commits are then still unknown.
 */
export type CommitLookup = (commits: UnknownCommits) => Promise<readonly boolean[]>;

/** Longer than the statements may take. A database that takes longer ignores its statement timeout. */
const TIMEOUT_MS = 5_000;

/** @param timeoutMs after which an unresponsive connection is dropped. */
export function commitLookupIn(address: DatabaseAddress, timeoutMs = TIMEOUT_MS): CommitLookup {
  const asking = async <T>(connection: OneConnection, ask: (sql: Sql) => Promise<T>): Promise<T> => {
    const late = setTimeout(() => connection.drop(), timeoutMs);
    try {
      return await ask(connection.sql);
    } finally {
      clearTimeout(late);
      connection.drop();
    }
  };
  return async ({ rows, backend }) => {
    // Without a role, because a login may terminate its own processes.
    const connection = connectOnce(address, { statementTimeout: 4_000, connectTimeout: 2 });
    const server = await asking(connection, (sql) => endBackend(sql, backend));
    const options = { role: "cloakroom_app", statementTimeout: 2_000, connectTimeout: 2 } as const;
    return asking(connectOnce(address, options), async (sql) => {
      // A row of one server says nothing of another: an address can lead to the former primary, then to its standby.
      const [here] = await sql<{ startedAt: string }[]>`select pg_postmaster_start_time()::text as "startedAt"`;
      if (here?.startedAt !== server) throw new Error("the address leads to several servers");
      const found: boolean[] = [];
      for (const row of rows) found.push(await hasLogRow(sql, row));
      const committed = rows.find((_, index) => found[index]);
      if (committed) await awaitDurability(sql, committed.tenantId);
      return found;
    });
  };
}

/**
 * Terminates the database process that received the commit. It may not have noticed that its connection is lost, and
 * could wait for a lock and commit later. A missing row proves that nothing is stored only once the process has ended.
 * A pooler reports process ids of its own, so through a pooler no process is found.
 *
 * A process that waits for a synchronous standby is left alone: to end it would end its wait, and show a commit that a
 * failover loses. While one of our processes has waited for long, nothing is looked up: the look-up would wait as well,
 * on a connection that PostgreSQL keeps until the standby is back.
 * @returns the start of the server, which tells it from every other one.
 */
async function endBackend(sql: Sql, backend: number): Promise<string> {
  const [server] = await sql<{ startedAt: string; waits: boolean }[]>`
    select pg_postmaster_start_time()::text as "startedAt", exists (
      select from pg_stat_activity
      where usename = current_user and application_name = ${APPLICATION_NAME} and wait_event = 'SyncRep'
        and (pid = ${backend} or state_change < clock_timestamp() - interval '1 second')
    ) as waits`;
  if (!server || server.waits) throw new Error("a commit waits for a standby");
  const ended = await sql<{ hasEnded: boolean | null }[]>`
    select case when wait_event is distinct from 'SyncRep' then pg_terminate_backend(pid, 3000) end as "hasEnded"
    from pg_stat_activity
    where pid = ${backend} and usename = current_user and application_name = ${APPLICATION_NAME}`;
  if (ended.some(({ hasEnded }) => !hasEnded)) throw new Error("a process of the database does not end");
  return server.startedAt;
}

/**
 * A row that a read finds is committed, also in a database that takes no writes. Otherwise this tries to write the row
 * again, and discards the attempt. If the first transaction has written the row and has not ended, the database makes
 * the second one wait for it. On Citus it may go on after the coordinator has crashed: a worker may have yet to read the
 * `commit` of its part, or a prepared part may await its recovery. A read alone would find nothing, and miss a commit.
 * @throws if the first transaction does not end within the time-outs of the connection.
 */
async function hasLogRow(sql: Sql, { tenantId, marker }: MarkedRow): Promise<boolean> {
  const found = await asTenant(
    sql,
    tenantId,
    () => sql`
      select 1 from audit_logs
      where tenant_id = ${tenantId} and created_at = ${marker.createdAt} and id = ${marker.id}`,
  );
  if (found.length > 0) return true;
  const written = await asTenant(
    sql,
    tenantId,
    () => sql`
      insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
      values (${tenantId}, ${marker.createdAt}, ${marker.id}, '', '', '', '', '') on conflict do nothing returning 1`,
  );
  return written.length === 0;
}

/**
 * Waits until the disk and the synchronous standbys have everything that was visible before. A row can be visible
 * without that: a transaction of a pipeline waits for neither, and a terminated process, one whose wait was cancelled,
 * and a restart show commits and do not tell whether a standby has them. A commit of our own after it waits for the same
 * standbys. In a cluster it writes to the coordinator and to the tenant's node.
 * @throws on a standby: whether others have the row, and which one is promoted, is not known there.
 */
async function awaitDurability(sql: Sql, tenantId: TenantId): Promise<void> {
  const [database] = await sql<{ isStandby: boolean; isCluster: boolean }[]>`
    select pg_is_in_recovery() as "isStandby",
      nullif(current_setting('citus.version', true), '') is not null as "isCluster"`;
  if (!database || database.isStandby) throw new Error("the database is a standby");
  if (!database.isCluster) {
    await sql`select pg_logical_emit_message(true, 'cloakroom', '')`;
    return;
  }
  await Promise.all([
    sql.unsafe("begin"),
    sql.unsafe(`set local app.tenant_id = '${tenantId}'`),
    sql`select pg_logical_emit_message(true, 'cloakroom', '')`,
    sql`select 1 from tenants where tenant_id = ${tenantId} for key share`,
    sql.unsafe("commit"),
  ]);
}

/** Runs a query in a transaction of a tenant, and rolls it back. */
async function asTenant(sql: Sql, tenantId: TenantId, query: () => PendingQuery<Row[]>): Promise<readonly Row[]> {
  const [, , rows] = await Promise.all([
    sql.unsafe("begin"),
    sql.unsafe(`set local app.tenant_id = '${tenantId}'`),
    query(),
    sql.unsafe("rollback"),
  ]);
  return rows;
}

/** Tries after each of these delays in milliseconds until there is a result. */
export async function resolveUnknownCommit(
  wasCommitted: CommitLookup,
  retryDelays: readonly number[],
  commits: UnknownCommits,
): Promise<readonly boolean[] | "unreachable"> {
  for (const delay of retryDelays) {
    await pause(delay);
    try {
      return await wasCommitted(commits);
    } catch {
      // The next attempt decides.
    }
  }
  return "unreachable";
}
