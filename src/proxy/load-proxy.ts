import { hash as digest } from "node:crypto";
import { LRUCache } from "lru-cache";
import { isMarked, type PresentedKey, parseKey } from "../access/key-text.js";
import type { AuditContext } from "../audit/audit-context.js";
import type { RefusedCredential } from "../audit/refused-credentials.js";
import { Fault, unavailable } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { Semaphore } from "../base/semaphore.js";
import { SealBroken } from "../crypto/sealed.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { Database } from "../store/database.js";
import { findProxyByKey } from "../store/functions/proxies.js";
import type { Keyring } from "../tenancy/keyring.js";
import { type ConfiguredProxy, openProxy } from "./proxy.js";

/** A proxy with the tenant's revision at which it was read. */
export interface LoadedProxy {
  readonly tenantId: TenantId;
  readonly proxy: ConfiguredProxy;
  readonly revision: number;
  /** Stored bytes of its definition. */
  readonly definitionBytes: number;
}

/** Stored bytes of all proxies that are kept. One may have 5 MB of transforms. */
const MAX_LOADED_BYTES = 32 * 1024 * 1024;
/** Each of them may read 5 MB. As many more may wait as unverified keys: anyone can make up keys of proxies. */
const LOADS_AT_ONCE = 8;
const LOADS_WAITING = 2_000;

/** A proxy takes more memory than a caller. None is used after a change. */
const FRESH_MS = 4_000;

/** Finds proxies by their keys. */
export class ProxyLoader {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #onRefused: (refused: RefusedCredential) => void;
  /** By a digest of the key, to keep key texts out of memory; the whole key is used only for a miss. */
  readonly #loaded = new LRUCache<string, LoadedProxy>({
    max: 5_000,
    ttl: FRESH_MS,
    maxSize: MAX_LOADED_BYTES,
    sizeCalculation: ({ definitionBytes }) => 1_000 + definitionBytes,
  });
  readonly #loading = new Map<string, Promise<LoadedProxy | undefined>>();
  readonly #loads = new Semaphore(LOADS_AT_ONCE, LOADS_WAITING);

  /** @param onRefused called for each call with a key that is well-formed and of no proxy. */
  constructor(database: Database, keyring: Keyring, onRefused: (refused: RefusedCredential) => void) {
    this.#database = database;
    this.#keyring = keyring;
    this.#onRefused = onRefused;
  }

  /** @throws {Fault} not_found for every invalid key; unavailable if too many proxies are loaded at once. */
  async find(keyText: string, context: AuditContext): Promise<LoadedProxy> {
    const name = digest("sha256", keyText, "base64");
    const known = this.#loaded.get(name);
    if (known) return known;
    const key = parseKey(keyText);
    if (key?.kind !== "prx") throw unknownProxy();
    const isOurs = isMarked(await this.#keyring.keyMark(), keyText);
    const loaded = isOurs ? await this.#loadOnce(name, key) : undefined;
    if (!loaded) {
      this.#onRefused({ ...key, context, entityType: "proxy" });
      throw unknownProxy();
    }
    // The hash in the database only finds the proxy. The sealed definition has the key itself.
    if (!loaded.proxy.key.equals(new Sensitive(keyText)))
      throw new SealBroken("a proxy is stored under the hash of another key");
    this.#loaded.set(name, loaded);
    return loaded;
  }

  /** Drops a cached proxy after the tenant's rights or proxies changed. */
  forget(keyText: string): void {
    this.#loaded.delete(digest("sha256", keyText, "base64"));
  }

  /** Calls of one proxy at the same time share its load. */
  #loadOnce(name: string, key: PresentedKey): Promise<LoadedProxy | undefined> {
    const known = this.#loading.get(name);
    if (known) return known;
    if (this.#loads.isFull) throw unavailable("too many proxies are loaded at once");
    const loading = this.#loads.run(() => this.#load(key)).finally(() => this.#loading.delete(name));
    this.#loading.set(name, loading);
    return loading;
  }

  async #load({ tenantId, hash }: PresentedKey): Promise<LoadedProxy | undefined> {
    const row = await this.#database.of(tenantId).shared((tx) => tx.query(findProxyByKey, hash));
    if (!row) return undefined;
    const keys = await this.#keyring.of(tenantId, row.auth_revision);
    const definitionBytes = row.definition.length;
    return { tenantId, proxy: openProxy(keys, row), revision: row.auth_revision, definitionBytes };
  }
}

function unknownProxy(): Fault {
  return new Fault("not_found", "There is no proxy with this key.");
}
