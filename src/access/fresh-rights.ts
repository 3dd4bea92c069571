import { Reason } from "../base/fault.js";
import { KeyVersionUnknown } from "../crypto/sealed.js";
import { StaleAuthorization } from "../store/postgres/database-error.js";

/** Rights that change this often during one piece of work keep changing. */
const ATTEMPTS = 5;

/**
 * Does work again that found the tenant's rights changed since they were read, or a value under a newer key.
 * @param renew reads rights or keys again. It may throw, which ends the attempts.
 * @throws what the last attempt threw.
 */
export async function withFreshRights<T>(
  work: () => Promise<T>,
  renew: (stale: StaleAuthorization | KeyVersionUnknown) => Promise<void> | void,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isStale(error) || attempt === ATTEMPTS) throw error;
      await renew(error);
    }
  }
}

/**
 * A part of such work that has effects outside of the database: a payment service, a destination or code gets nothing a
 * second time.
 * @throws {Reason} in place of what would begin the work again.
 */
export async function doneOnce<T>(part: () => Promise<T>): Promise<T> {
  try {
    return await part();
  } catch (error) {
    throw isStale(error)
      ? new Reason("rights or keys changed during what must not be done again", { cause: error })
      : error;
  }
}

function isStale(error: unknown): error is StaleAuthorization | KeyVersionUnknown {
  return error instanceof StaleAuthorization || error instanceof KeyVersionUnknown;
}
