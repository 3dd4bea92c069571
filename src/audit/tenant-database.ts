import type { TenantId } from "../base/ids.js";
import type { TenantKeySource, TenantKeys } from "../crypto/tenant-keys.js";
import type { Database, TenantTransactions } from "../store/database.js";
import type { Work } from "../store/transactions/transaction.js";
import { type OrdinaryTenantTransaction, type TenantTransaction, tenantTransaction } from "./tenant-transaction.js";

/** The kinds of transactions of a tenant: see {@link Database}. */
export interface TenantDatabase<Shared, Ordinary> {
  readonly keys: TenantKeys;
  shared<T>(work: (tx: Shared) => Promise<T>): Promise<T>;
  ordinary<T>(work: (tx: Ordinary) => Promise<T>): Promise<T>;
  bulk<T>(work: (tx: Ordinary) => Promise<T>): Promise<T>;
}

export type ServedTenant = TenantDatabase<TenantTransaction, OrdinaryTenantTransaction>;

export interface TenantParts {
  readonly database: Database;
  readonly keyring: TenantKeySource;
}

/**
 * A tenant for the server's own work, with the keys that it has now.
 * @throws {Fault} as {@link TenantKeySource.of}.
 */
export async function openTenant({ database, keyring }: TenantParts, tenantId: TenantId): Promise<ServedTenant> {
  return asServer(database, await keyring.of(tenantId));
}

/** Transactions of the server's own work on a tenant: jobs, sign-ins, commands. */
export function asServer(database: Pick<Database, "of">, keys: TenantKeys): ServedTenant {
  return new ServerDatabase(database.of(keys.tenantId), keys);
}

class ServerDatabase implements ServedTenant {
  readonly keys: TenantKeys;
  readonly #transactions: TenantTransactions;

  constructor(transactions: TenantTransactions, keys: TenantKeys) {
    this.#transactions = transactions;
    this.keys = keys;
  }

  shared<T>(work: Work<T, TenantTransaction>): Promise<T> {
    return this.#transactions.shared((tx) => work(tenantTransaction(tx, this.keys)));
  }

  ordinary<T>(work: Work<T, OrdinaryTenantTransaction>): Promise<T> {
    return this.#transactions.ordinary((tx) => work(tenantTransaction(tx, this.keys)));
  }

  bulk<T>(work: Work<T, OrdinaryTenantTransaction>): Promise<T> {
    return this.#transactions.bulk((tx) => work(tenantTransaction(tx, this.keys)));
  }
}
