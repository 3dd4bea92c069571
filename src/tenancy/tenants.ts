import type { Caller } from "../access/caller.js";
import { asCaller } from "../access/caller-database.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { asServer, type ServedTenant, type TenantDatabase } from "../audit/tenant-database.js";
import type { TenantId } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import type { Keyring } from "./keyring.js";

type TenantsKeyring = Pick<Keyring, "of" | "find" | "readAgain">;

/** The tenants of a vault: their transactions, with the keys that they have now. */
export class Tenants {
  readonly #database: Database;
  readonly #keyring: TenantsKeyring;

  constructor(database: Database, keyring: TenantsKeyring) {
    this.#database = database;
    this.#keyring = keyring;
  }

  /** @throws {Fault} unavailable while the root key's holder is away; unauthenticated once the tenant is deleted. */
  async of(tenantId: TenantId): Promise<ServedTenant> {
    return this.withKeys(await this.#keyring.of(tenantId));
  }

  /** Undefined for a tenant that does not exist. @throws {Fault} unavailable while the root key's holder is away. */
  async find(tenantId: TenantId): Promise<ServedTenant | undefined> {
    const keys = await this.#keyring.find(tenantId);
    return keys && this.withKeys(keys);
  }

  /** A tenant whose keys are at hand: it begins without reading them. */
  withKeys(keys: TenantKeys): ServedTenant {
    return asServer(this.#database, keys, () => this.#keyring.readAgain(keys.tenantId));
  }

  /** The caller's tenant, for work under the caller's rights. */
  async as(caller: Caller): Promise<TenantDatabase<CallerTransaction, OrdinaryCallerTransaction>> {
    return asCaller(this.#database, await this.#keyring.of(caller.tenantId), caller);
  }
}
