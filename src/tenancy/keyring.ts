import type { KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import { Fault, unavailable } from "../base/fault.js";
import { type TenantId, VAULT_TENANT_ID } from "../base/ids.js";
import { lruEntries } from "../base/lru-entries.js";
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
import {
  insertTenantKeyIfMissing,
  listTenantKeys,
  type TenantKeyRow,
  wrappingRootKey,
} from "../store/tenancy/tenant-keys.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";

/**
 * How long keys are used without checking the database by work that names no revision. A check costs one query, because
 * keys already known are not unwrapped again. Unguarded writers stop using a retired key within this time.
 */
const KEYS_FRESH_MS = 10_000;

interface Entry {
  readonly keys: TenantKeys;
  readonly unwrapped: UnwrappedKeys;
  /** The tenant's revision when they were read. */
  readonly revision: number;
  readonly since: number;
}

/** Of the unwrapped keys of all tenants: those of 10,000 that have replaced none. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Measured for 10,000 tenants: 12.4 KB of memory each, six keys. */
const BYTES_A_KEY = 2_100;

function entryBytes({ unwrapped }: Entry): number {
  return Math.max(1, unwrapped.size) * BYTES_A_KEY;
}

/**
 * The unwrapped keys of tenants. While the root key's holder is unavailable, tenants with known keys are still served;
 * others receive a fault and must retry.
 *
 * A rotation raises the tenant's revision. Callers get the keys that were read at their own revision, and those of
 * other revisions fail at the guard of their transaction: new values are sealed under the new key at once, on all
 * replicas, and never under a key that the database lost in a failover.
 */
export class Keyring implements TenantKeySource {
  readonly #database: Database;
  readonly #roots: Pick<RootKeys, "find">;
  readonly #entries = new LRUCache<TenantId, Entry>({ maxSize: MAX_BYTES, sizeCalculation: entryBytes });
  readonly #expected = new LRUCache<TenantId, number>(lruEntries(20_000));
  readonly #loading = new Map<TenantId, Promise<Entry>>();
  /** Kept for good: keys of this purpose are not rotated. */
  #keyMark: KeyObject | undefined;

  constructor(database: Database, roots: Pick<RootKeys, "find">) {
    this.#database = database;
    this.#roots = roots;
  }

  /**
   * The keys of a tenant, read at `revision`; at the tenant's present one if that is another.
   * @param revision of rights that were read before: its transactions are guarded by it. Absent: the keys were read a
   *   short while ago.
   * @throws {Fault} unavailable while the root key's holder is unavailable; unauthenticated after the tenant is
   *   deleted.
   */
  async of(tenantId: TenantId, revision?: number): Promise<TenantKeys> {
    const known = revision === undefined ? this.#fresh(tenantId) : this.known(tenantId, revision);
    if (known) return known;
    const wanted = revision ?? this.#expected.get(tenantId);
    const isOf = (entry: Entry) => wanted === undefined || entry.revision === wanted;
    const shared = this.#loading.get(tenantId);
    const loaded = await (shared ?? this.#start(tenantId));
    // The shared load may have begun before the revision existed.
    return isOf(loaded) || !shared ? loaded.keys : (await this.#start(tenantId)).keys;
  }

  /** The keys that were read at `revision`, however long ago. Undefined: {@link of} reads them. */
  known(tenantId: TenantId, revision: number): TenantKeys | undefined {
    const known = this.#entries.get(tenantId);
    return known?.revision === revision ? known.keys : undefined;
  }

  #fresh(tenantId: TenantId): TenantKeys | undefined {
    const known = this.#entries.get(tenantId);
    const expected = this.#expected.get(tenantId);
    if (!known || (expected !== undefined && known.revision !== expected)) return undefined;
    return performance.now() - known.since < KEYS_FRESH_MS ? known.keys : undefined;
  }

  async readAgain(tenantId: TenantId): Promise<TenantKeys> {
    return (await this.#start(tenantId)).keys;
  }

  async lastRead(tenantId: TenantId): Promise<TenantKeys> {
    return this.#entries.get(tenantId)?.keys ?? this.of(tenantId);
  }

  async keyMark(): Promise<KeyObject> {
    this.#keyMark ??= (await this.of(VAULT_TENANT_ID)).proof;
    return this.#keyMark;
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

  /** A caller was authorized under this revision: keys read at another one must no longer be used. */
  expect(tenantId: TenantId, revision: number): void {
    this.#expected.set(tenantId, revision);
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
    const stored = await this.#database.of(tenantId).shared((tx) => tx.query(listTenantKeys, tenantId));
    // The vault's own keys are created on first use.
    if (stored.length === 0 && tenantId !== VAULT_TENANT_ID) {
      this.forget(tenantId);
      throw new Fault("unauthenticated", "The tenant of the key used does not exist any more.");
    }
    const known = this.#entries.get(tenantId)?.unwrapped;
    try {
      const rows = await this.#complete(tenantId, stored.map(readWrappedKey));
      const unwrapped = await unwrapTenantKeys(this.#roots, tenantId, rows, known);
      const keyMark = tenantId === VAULT_TENANT_ID ? unwrapped.keys.proof : await this.keyMark();
      const keys = { ...unwrapped.keys, keyMark };
      const entry = { keys, unwrapped: unwrapped.unwrapped, revision: stored[0]?.auth_revision ?? 0, since };
      this.#entries.set(tenantId, entry);
      return entry;
    } catch (error) {
      const isAway = error instanceof RootKeyUnreachable || error instanceof RootKeyDenied;
      throw isAway
        ? unavailable("the root key's holder refused to unwrap the tenant's keys, or is unreachable")
        : error;
    }
  }

  /** Creates the vault's own keys on first use, and those of a purpose that came after the tenant. */
  async #complete(tenantId: TenantId, stored: readonly WrappedTenantKey[]): Promise<readonly WrappedTenantKey[]> {
    const missing = KEY_PURPOSES.filter((purpose) => !stored.some((key) => key.purpose === purpose));
    if (missing.length === 0) return stored;
    const rootKeyId = await this.#database.of(tenantId).shared((tx) => tx.query(wrappingRootKey, "wrapping"));
    const root = rootKeyId === undefined ? undefined : await this.#roots.find(rootKeyId);
    if (!root) throw unavailable("the current root key is not configured on this server");
    const made = await Promise.all(missing.map((purpose) => generateTenantKey(root, tenantId, purpose, 1)));
    return this.#database.of(tenantId).ordinary(async (tx) => {
      // If the root key was replaced meanwhile, new keys under the old one could be lost with it.
      if ((await tx.query(wrappingRootKey, "wrapping")) !== root.id)
        throw unavailable("the root key is being replaced");
      for (const { wrapped, rootKeyId, ...key } of made) {
        tx.enqueue(insertTenantKeyIfMissing, { ...key, wrapped: Buffer.from(wrapped), root_key_id: rootKeyId });
      }
      // A failover that loses these keys loses this revision with them, and no process uses them under the former one.
      if (tenantId !== VAULT_TENANT_ID) tx.enqueue(incrementAuthRevision, tenantId);
      // Another process may have been faster: its keys are used.
      return (await tx.query(listTenantKeys, tenantId)).map(readWrappedKey);
    });
  }
}

/** @throws {Error} for a purpose unknown to this release. */
export function readWrappedKey({ purpose, version, wrapped, root_key_id, state }: TenantKeyRow): WrappedTenantKey {
  if (!isKeyPurpose(purpose)) throw new Error(`a tenant key of unknown purpose is stored: ${purpose}`);
  return { purpose, version, wrapped, rootKeyId: root_key_id, state: state === "current" ? "current" : "retired" };
}

function isKeyPurpose(text: string): text is KeyPurpose {
  return KEY_PURPOSES.some((purpose) => purpose === text);
}
