import type { Caller } from "../access/caller.js";
import { asCaller } from "../access/caller-database.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { asServer, type ServedTenant, type TenantDatabase } from "../audit/tenant-database.js";
import type { TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import type { Keyring } from "./keyring.js";

/** The tenants of a vault: their transactions, with the keys that they have now. */
export class Tenants {
  readonly #database: Database;
  readonly #keyring: Pick<Keyring, "of" | "find">;

  constructor(database: Database, keyring: Pick<Keyring, "of" | "find">) {
    this.#database = database;
    this.#keyring = keyring;
  }

  /** @throws {Fault} unavailable while the root key's holder is away; unauthenticated once the tenant is deleted. */
  async of(tenantId: TenantId): Promise<ServedTenant> {
    return asServer(this.#database, await this.#keyring.of(tenantId));
  }

  /** Undefined for a tenant that does not exist. @throws {Fault} unavailable while the root key's holder is away. */
  async find(tenantId: TenantId): Promise<ServedTenant | undefined> {
    const keys = await this.#keyring.find(tenantId);
    return keys && asServer(this.#database, keys);
  }

  /** The caller's tenant, for work under the caller's rights. */
  async as(caller: Caller): Promise<TenantDatabase<CallerTransaction, OrdinaryCallerTransaction>> {
    return asCaller(this.#database, await this.#keyring.of(caller.tenantId), caller);
  }
}
