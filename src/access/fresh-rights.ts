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
      const isStale = error instanceof StaleAuthorization || error instanceof KeyVersionUnknown;
      if (!isStale || attempt === ATTEMPTS) throw error;
      await renew(error);
    }
  }
}
