import { LRUCache } from "lru-cache";
import type { TenantId } from "../base/ids.js";
import type { RootKey } from "../crypto/root-key.js";
import {
  KEY_PURPOSES,
  type KeyPurpose,
  type TenantKeys,
  unwrapTenantKeys,
  type WrappedTenantKey,
} from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { listTenantKeys, type TenantKeyRow } from "../store/tenant-keys.js";

/**
 * The unwrapped keys of tenants, remembered for five minutes. While the root key's holder is away, tenants that are
 * remembered are served on; all others fail.
 */
export class Keyring {
  readonly #database: Database;
  readonly #roots: ReadonlyMap<string, RootKey>;
  readonly #keys = new LRUCache<TenantId, TenantKeys>({ max: 10_000, ttl: 5 * 60_000 });
  readonly #loading = new Map<TenantId, Promise<TenantKeys>>();

  constructor(database: Database, roots: ReadonlyMap<string, RootKey>) {
    this.#database = database;
    this.#roots = roots;
  }

  of(tenantId: TenantId): Promise<TenantKeys> {
    const known = this.#keys.get(tenantId);
    if (known) return Promise.resolve(known);
    let loading = this.#loading.get(tenantId);
    if (!loading) {
      loading = this.#load(tenantId).finally(() => this.#loading.delete(tenantId));
      this.#loading.set(tenantId, loading);
    }
    return loading;
  }

  /** Drops what is remembered: the tenant is deleted, or its keys were rotated. */
  forget(tenantId: TenantId): void {
    this.#keys.delete(tenantId);
  }

  async #load(tenantId: TenantId): Promise<TenantKeys> {
    const rows = await this.#database.fast.run(tenantId, "unguarded", (tx) => tx.ask(listTenantKeys, tenantId));
    const keys = await unwrapTenantKeys(this.#roots, tenantId, rows.map(wrappedKeyOf));
    this.#keys.set(tenantId, keys);
    return keys;
  }
}

function wrappedKeyOf({ purpose, version, wrapped, root_key_id, state }: TenantKeyRow): WrappedTenantKey {
  if (!isKeyPurpose(purpose)) throw new Error(`a tenant key of unknown purpose is stored: ${purpose}`);
  return { purpose, version, wrapped, rootKeyId: root_key_id, state: state === "current" ? "current" : "retired" };
}

function isKeyPurpose(text: string): text is KeyPurpose {
  return KEY_PURPOSES.some((purpose) => purpose === text);
}
