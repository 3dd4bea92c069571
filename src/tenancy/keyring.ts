import { LRUCache } from "lru-cache";
import { Fault } from "../base/fault.js";
import { type TenantId, VAULT_TENANT_ID } from "../base/ids.js";
import { RootKeyDenied, RootKeyUnreachable } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import {
  generateTenantKey,
  KEY_PURPOSES,
  type KeyPurpose,
  type TenantKeySource,
  type TenantKeys,
  type UnwrappedKeys,
  unwrapTenantKeys,
  type WrappedTenantKey,
} from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { unavailable } from "../store/postgres/database-error.js";
import {
  insertTenantKeyIfMissing,
  listTenantKeys,
  type TenantKeyRow,
  wrappingRootKey,
} from "../store/tenancy/tenant-keys.js";

/**
 * How long keys are used without checking the database. A check costs one query, because keys already known are not
 * unwrapped again. Unguarded writers stop using a retired key within this time.
 */
const KEYS_FRESH_MS = 10_000;

interface Entry {
  readonly keys: TenantKeys;
  readonly unwrapped: UnwrappedKeys;
  /** The tenant's revision when they were read. */
  readonly revision: number;
  readonly since: number;
}

/**
 * The unwrapped keys of tenants. While the root key's holder is unavailable, tenants with known keys are still served;
 * others receive a fault and must retry.
 *
 * A rotation raises the tenant's revision. Callers authorized under the new revision never get older keys ({@link
 * expect}), and those of earlier revisions fail at the guard of their transaction: new values are sealed under the new
 * key at once, on all replicas.
 */
export class Keyring implements TenantKeySource {
  readonly #database: Database;
  readonly #roots: Pick<RootKeys, "find">;
  readonly #entries = new LRUCache<TenantId, Entry>({ max: 10_000 });
  readonly #expected = new LRUCache<TenantId, number>({ max: 20_000 });
  readonly #loading = new Map<TenantId, Promise<Entry>>();

  constructor(database: Database, roots: Pick<RootKeys, "find">) {
    this.#database = database;
    this.#roots = roots;
  }

  /**
   * The keys of a tenant, at `revision` or later.
   * @throws {Fault} unavailable while the root key's holder is unavailable; unauthenticated after the tenant is
   *   deleted.
   */
  async of(tenantId: TenantId, revision = 0): Promise<TenantKeys> {
    const needed = Math.max(revision, this.#expected.get(tenantId) ?? 0);
    const known = this.#entries.get(tenantId);
    if (known && known.revision >= needed && performance.now() - known.since < KEYS_FRESH_MS) return known.keys;
    const shared = this.#loading.get(tenantId);
    const loaded = await (shared ?? this.#start(tenantId));
    // The shared load may have begun before the revision existed.
    return loaded.revision >= needed || !shared ? loaded.keys : (await this.#start(tenantId)).keys;
  }

  /** The keys of a tenant; undefined for one that does not exist. @throws {Fault} unavailable, as {@link of} does. */
  async find(tenantId: TenantId): Promise<TenantKeys | undefined> {
    try {
      return await this.of(tenantId);
    } catch (error) {
      if (error instanceof Fault && error.code === "unauthenticated") return undefined;
      throw error;
    }
  }

  /** A caller was authorized under this revision: the tenant's older keys must no longer be used. */
  expect(tenantId: TenantId, revision: number): void {
    if (revision > (this.#expected.get(tenantId) ?? 0)) this.#expected.set(tenantId, revision);
  }

  /** Drops the cached keys: the tenant is deleted, or its keys were rotated. */
  forget(tenantId: TenantId): void {
    this.#entries.delete(tenantId);
  }

  #start(tenantId: TenantId): Promise<Entry> {
    const loading = this.#load(tenantId).finally(() => {
      if (this.#loading.get(tenantId) === loading) this.#loading.delete(tenantId);
    });
    this.#loading.set(tenantId, loading);
    return loading;
  }

  async #load(tenantId: TenantId): Promise<Entry> {
    const since = performance.now();
    const stored = await this.#database.shared.run(tenantId, "unguarded", (tx) => tx.query(listTenantKeys, tenantId));
    // The vault's own keys are created on first use.
    if (stored.length === 0 && tenantId !== VAULT_TENANT_ID) {
      this.forget(tenantId);
      throw new Fault("unauthenticated", "The tenant of the key used does not exist any more.");
    }
    const known = this.#entries.get(tenantId)?.unwrapped;
    try {
      const rows = await this.#complete(tenantId, stored.map(wrappedKeyOf));
      const unwrapped = await unwrapTenantKeys(this.#roots, tenantId, rows, known);
      const entry = { ...unwrapped, revision: stored[0]?.auth_revision ?? 0, since };
      this.#entries.set(tenantId, entry);
      return entry;
    } catch (error) {
      const isAway = error instanceof RootKeyUnreachable || error instanceof RootKeyDenied;
      throw isAway
        ? unavailable("the root key's holder refused to unwrap the tenant's keys, or is unreachable")
        : error;
    }
  }

  /** Creates missing keys on first use, for tenants older than a key's purpose. */
  async #complete(tenantId: TenantId, stored: readonly WrappedTenantKey[]): Promise<readonly WrappedTenantKey[]> {
    const missing = KEY_PURPOSES.filter((purpose) => !stored.some((key) => key.purpose === purpose));
    if (missing.length === 0) return stored;
    const rootKeyId = await this.#database.shared.run(tenantId, "unguarded", (tx) =>
      tx.query(wrappingRootKey, "wrapping"),
    );
    const root = rootKeyId === undefined ? undefined : await this.#roots.find(rootKeyId);
    if (!root) throw unavailable("the current root key is not configured on this server");
    const made = await Promise.all(missing.map((purpose) => generateTenantKey(root, tenantId, purpose, 1)));
    return this.#database.ordinary.run(tenantId, "unguarded", async (tx) => {
      // If the root key was replaced meanwhile, new keys under the old one could be lost with it.
      if ((await tx.query(wrappingRootKey, "wrapping")) !== root.id)
        throw unavailable("the root key is being replaced");
      for (const { wrapped, rootKeyId, ...key } of made) {
        tx.enqueue(insertTenantKeyIfMissing, { ...key, wrapped: Buffer.from(wrapped), root_key_id: rootKeyId });
      }
      // Another process may have been faster: its keys are used.
      return (await tx.query(listTenantKeys, tenantId)).map(wrappedKeyOf);
    });
  }
}

/** @throws {Error} for a purpose unknown to this release. */
export function wrappedKeyOf({ purpose, version, wrapped, root_key_id, state }: TenantKeyRow): WrappedTenantKey {
  if (!isKeyPurpose(purpose)) throw new Error(`a tenant key of unknown purpose is stored: ${purpose}`);
  return { purpose, version, wrapped, rootKeyId: root_key_id, state: state === "current" ? "current" : "retired" };
}

function isKeyPurpose(text: string): text is KeyPurpose {
  return KEY_PURPOSES.some((purpose) => purpose === text);
}
