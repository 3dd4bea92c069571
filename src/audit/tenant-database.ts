import type { TenantId } from "../base/ids.js";
import { KeyVersionUnknown } from "../crypto/sealed.js";
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

/**
 * A tenant for the server's own work. No revision guards it, so its keys may be rotated while it is under way: a value
 * that is found under a newer key has the keys read again, and the transaction run again.
 */
export interface ServedTenant extends TenantDatabase<TenantTransaction, OrdinaryTenantTransaction> {
  /** Opens values that a transaction has read, again after a rotation. @throws {SealBroken} */
  open<T>(values: (keys: TenantKeys) => T): Promise<T>;
}

export interface TenantParts {
  readonly database: Database;
  readonly keyring: TenantKeySource;
}

/**
 * A tenant for the server's own work, with the keys that it has now.
 * @throws {Fault} as {@link TenantKeySource.of}.
 */
export async function openTenant({ database, keyring }: TenantParts, tenantId: TenantId): Promise<ServedTenant> {
  return asServer(database, await keyring.of(tenantId), () => keyring.readAgain(tenantId));
}

/**
 * Transactions of the server's own work on a tenant: jobs, sign-ins, commands.
 * @param renew reads the keys again. Absent: a value under a newer key is an error.
 */
export function asServer(
  database: Pick<Database, "of">,
  keys: TenantKeys,
  renew?: () => Promise<TenantKeys>,
): ServedTenant {
  return new ServerDatabase(database.of(keys.tenantId), keys, renew);
}

class ServerDatabase implements ServedTenant {
  readonly #transactions: TenantTransactions;
  readonly #renew: (() => Promise<TenantKeys>) | undefined;
  #keys: TenantKeys;

  constructor(transactions: TenantTransactions, keys: TenantKeys, renew: (() => Promise<TenantKeys>) | undefined) {
    this.#transactions = transactions;
    this.#keys = keys;
    this.#renew = renew;
  }

  get keys(): TenantKeys {
    return this.#keys;
  }

  shared<T>(work: Work<T, TenantTransaction>): Promise<T> {
    return this.#renewing((keys) => this.#transactions.shared((tx) => work(tenantTransaction(tx, keys))));
  }

  ordinary<T>(work: Work<T, OrdinaryTenantTransaction>): Promise<T> {
    return this.#renewing((keys) => this.#transactions.ordinary((tx) => work(tenantTransaction(tx, keys))));
  }

  bulk<T>(work: Work<T, OrdinaryTenantTransaction>): Promise<T> {
    return this.#renewing((keys) => this.#transactions.bulk((tx) => work(tenantTransaction(tx, keys))));
  }

  open<T>(values: (keys: TenantKeys) => T): Promise<T> {
    return this.#renewing(async (keys) => values(keys));
  }

  async #renewing<T>(work: (keys: TenantKeys) => Promise<T>): Promise<T> {
    try {
      return await work(this.#keys);
    } catch (error) {
      if (!this.#renew || !(error instanceof KeyVersionUnknown)) throw error;
      this.#keys = await this.#renew();
      return work(this.#keys);
    }
  }
}
