import { setTimeout as pause } from "node:timers/promises";
import { codeOf } from "./database-error.js";

/** With a lock timeout of two seconds: a minute. */
const ATTEMPTS = 30;
/** A lock that was not granted in time, and a deadlock that was ended at our cost. */
const RETRIED = ["55P03", "40P01"];

/**
 * Runs a change to the schema beside running servers: a transaction that waits for a table's lock holds up all requests
 * behind it. One that does not get the lock within the lock timeout gives up, lets them pass, and tries again.
 * @param change one transaction.
 */
export async function retryingLocks<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change();
    } catch (error) {
      if (!RETRIED.includes(codeOf(error)) || attempt === ATTEMPTS) throw error;
      await pause(100);
    }
  }
}
