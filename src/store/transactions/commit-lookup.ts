import { setTimeout as pause } from "node:timers/promises";
import type { PendingQuery, Row } from "postgres";
import type { TenantId } from "../../base/ids.js";
import { APPLICATION_NAME, type DatabaseAddress, type Sql } from "../postgres/connect.js";
import { connectOnce, type OneConnection } from "../postgres/one-connection.js";
import type { CommitMarker } from "./transaction.js";

/** A commit that was sent but not acknowledged. */
export interface UnknownCommit {
  readonly tenantId: TenantId;
  /** A log row that the transaction wrote. */
  readonly marker: CommitMarker;
  /** The database process that received the commit. */
  readonly backend: number;
}

/**
 * Returns whether the commit was carried out. The result is final: nothing in the transaction can happen afterwards.
 * @throws if the database does not respond or its process does not end. The commit is then still unknown.
 */
export type CommitLookup = (commit: UnknownCommit) => Promise<boolean>;

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
  return async (commit) => {
    // Without a role, because a login may terminate its own processes.
    const connection = connectOnce(address, { statementTimeout: 4_000, connectTimeout: 2 });
    await asking(connection, (sql) => endBackend(sql, commit.backend));
    const options = { role: "cloakroom_app", statementTimeout: 2_000, connectTimeout: 2 } as const;
    return asking(connectOnce(address, options), (sql) => hasLogRow(sql, commit));
  };
}

/**
 * Terminates the database process that received the commit. It may not have noticed that its connection is lost, and
 * could wait for a lock and commit later. A missing row proves that nothing is stored only once the process has ended.
 * A pooler reports process ids of its own, so through a pooler no process is found.
 */
async function endBackend(sql: Sql, backend: number): Promise<void> {
  const ended = await sql<{ hasEnded: boolean }[]>`
    select pg_terminate_backend(pid, 3000) as "hasEnded" from pg_stat_activity
    where pid = ${backend} and usename = current_user and application_name = ${APPLICATION_NAME}`;
  if (ended.some(({ hasEnded }) => !hasEnded)) throw new Error("a process of the database does not end");
}

/**
 * A row that a read finds is committed, also in a database that takes no writes. Otherwise this tries to write the row
 * again, and discards the attempt. If the first transaction has written the row and has not ended, the database makes
 * the second one wait for it. On Citus it may go on after the coordinator has crashed: a worker may have yet to read the
 * `commit` of its part, or a prepared part may await its recovery. A read alone would find nothing, and miss a commit.
 * @throws if the first transaction does not end within the time-outs of the connection.
 */
async function hasLogRow(sql: Sql, commit: UnknownCommit): Promise<boolean> {
  const { tenantId, marker } = commit;
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
      insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message)
      values (${tenantId}, ${marker.createdAt}, ${marker.id}, '', '', '', '') on conflict do nothing returning 1`,
  );
  return written.length === 0;
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
  commit: UnknownCommit,
): Promise<boolean | "unreachable"> {
  for (const delay of retryDelays) {
    await pause(delay);
    try {
      return await wasCommitted(commit);
    } catch {
      // The next attempt decides.
    }
  }
  return "unreachable";
}
