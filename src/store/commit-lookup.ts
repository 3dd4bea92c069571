import { setTimeout as pause } from "node:timers/promises";
import type { TenantId } from "../base/ids.js";
import { APPLICATION_NAME, type DatabaseAddress, type Sql } from "./connect.js";
import { connectOnce, type OneConnection } from "./one-connection.js";
import type { CommitMarker } from "./transaction.js";

/** A commit that was sent and not acknowledged. */
export interface UnknownCommit {
  readonly tenantId: TenantId;
  /** A log row that the transaction wrote. */
  readonly marker: CommitMarker;
  /** The database's process that was told to commit. */
  readonly backend: number;
}

/**
 * Was it carried out? The answer is final: nothing of the transaction happens any more.
 * @throws when the database does not answer, or its process does not end: the question is as open as before.
 */
export type CommitLookup = (commit: UnknownCommit) => Promise<boolean>;

/** Longer than the statements may take: a server that does not answer by then does not limit them either. */
const TIMEOUT_MS = 5_000;

/** @param timeoutMs after which a connection that does not answer is given up. */
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
    // Without a role: a login may end its own processes.
    const connection = connectOnce(address, { statementTimeout: 4_000, connectTimeout: 2 });
    await asking(connection, (sql) => endBackend(sql, commit.backend));
    const options = { role: "cloakroom_app", statementTimeout: 2_000, connectTimeout: 2 } as const;
    return asking(connectOnce(address, options), (sql) => hasLogRow(sql, commit));
  };
}

/**
 * Ends the database's process that was told to commit. It may not have noticed that its connection is gone, wait for a
 * lock, and commit in a while: only when it has ended does a missing row mean that nothing is stored. Through a pooler the
 * process ids are the pooler's own, and no process is found.
 */
async function endBackend(sql: Sql, backend: number): Promise<void> {
  const ended = await sql<{ hasEnded: boolean }[]>`
    select pg_terminate_backend(pid, 3000) as "hasEnded" from pg_stat_activity
    where pid = ${backend} and usename = current_user and application_name = ${APPLICATION_NAME}`;
  if (ended.some(({ hasEnded }) => !hasEnded)) throw new Error("a process of the database does not end");
}

/** Reads the log row on a new connection, which sees every commit that happened before it was opened. */
async function hasLogRow(sql: Sql, { tenantId, marker: { createdAt, id } }: UnknownCommit): Promise<boolean> {
  const [, , rows] = await Promise.all([
    sql.unsafe("begin"),
    sql.unsafe(`set local app.tenant_id = '${tenantId}'`),
    sql`select 1 from audit_logs where tenant_id = ${tenantId} and created_at = ${createdAt} and id = ${id}`,
    sql.unsafe("commit"),
  ]);
  return rows.length > 0;
}

/** Asks after each of these milliseconds, until there is an answer. */
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
      // The next try decides.
    }
  }
  return "unreachable";
}
