import type { TenantDatabase } from "../audit/tenant-database.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database, TenantTransactions } from "../store/database.js";
import type { ReadMemory } from "../store/transactions/large-reads.js";
import type { Work } from "../store/transactions/transaction.js";
import type { Caller } from "./caller.js";
import { type CallerTransaction, callerTransaction, type OrdinaryCallerTransaction } from "./caller-transaction.js";

/**
 * Transactions on behalf of a caller. Each fails with {@link StaleAuthorization} if the tenant's rights have changed since
 * the caller was read.
 * @param memory for large values that the work reads. Absent: they are not counted.
 */
export function asCaller(
  database: Database,
  keys: TenantKeys,
  caller: Caller,
  memory?: ReadMemory,
): TenantDatabase<CallerTransaction, OrdinaryCallerTransaction> {
  return new CallerDatabase(database.of(caller.tenantId, { revision: caller.revision, memory }), keys, caller);
}

class CallerDatabase implements TenantDatabase<CallerTransaction, OrdinaryCallerTransaction> {
  readonly keys: TenantKeys;
  readonly #transactions: TenantTransactions;
  readonly #caller: Caller;

  constructor(transactions: TenantTransactions, keys: TenantKeys, caller: Caller) {
    this.#transactions = transactions;
    this.keys = keys;
    this.#caller = caller;
  }

  shared<T>(work: Work<T, CallerTransaction>): Promise<T> {
    return this.#transactions.shared((tx) => work(callerTransaction(tx, this.keys, this.#caller)));
  }

  ordinary<T>(work: Work<T, OrdinaryCallerTransaction>): Promise<T> {
    return this.#transactions.ordinary((tx) => work(callerTransaction(tx, this.keys, this.#caller)));
  }

  bulk<T>(work: Work<T, OrdinaryCallerTransaction>): Promise<T> {
    return this.#transactions.bulk((tx) => work(callerTransaction(tx, this.keys, this.#caller)));
  }
}
