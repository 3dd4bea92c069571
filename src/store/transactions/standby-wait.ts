import { APPLICATION_NAME, type DatabaseAddress } from "../postgres/connect.js";
import { connectOnce } from "../postgres/one-connection.js";

/** How long the database may take to tell what one of its processes waits for. */
const TIMEOUT_MS = 2_000;

/**
 * Returns whether a process of the database holds a commit that a synchronous standby has yet to confirm. False also if
 * the database does not respond.
 */
export type StandbyWait = (backend: number) => Promise<boolean>;

export function standbyWaitIn(address: DatabaseAddress): StandbyWait {
  return async (backend) => {
    // Without a role: a login sees what its own processes wait for.
    const connection = connectOnce(address, { statementTimeout: TIMEOUT_MS, connectTimeout: 2 });
    const late = setTimeout(() => connection.drop(), TIMEOUT_MS);
    try {
      const waiting = await connection.sql`
        select 1 from pg_stat_activity
        where pid = ${backend} and usename = current_user and application_name = ${APPLICATION_NAME}
          and wait_event = 'SyncRep'`;
      return waiting.length > 0;
    } catch {
      return false;
    } finally {
      clearTimeout(late);
      connection.drop();
    }
  };
}
