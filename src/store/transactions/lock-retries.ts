import { setTimeout as pause } from "node:timers/promises";
import { databaseErrorCode } from "../postgres/database-error.js";

/** With a lock timeout of two seconds: a minute. */
const ATTEMPTS = 30;
/** A lock that was not granted in time, and a deadlock that PostgreSQL ended by cancelling us. */
const RETRIED = ["55P03", "40P01"];

/**
 * Runs a schema change beside running servers. A transaction that waits for a table's lock blocks all requests behind
 * it, so it stops waiting at the lock timeout, lets them pass, and tries again.
 * @param change one transaction.
 */
export async function retryingLocks<T>(change: () => Promise<T>, attempts = ATTEMPTS): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change();
    } catch (error) {
      if (!RETRIED.includes(databaseErrorCode(error)) || attempt === attempts) throw error;
      await pause(100);
    }
  }
}
