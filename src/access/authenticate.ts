import { hash as digest } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { AuditContext } from "../audit/audit-context.js";
import type { RefusedCredential } from "../audit/refused-credentials.js";
import type { Clock } from "../base/clock.js";
import { Fault, unavailable } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { Semaphore } from "../base/semaphore.js";
import type { TenantKeySource } from "../crypto/tenant-keys.js";
import { findApplicationKey, findApplicationRights } from "../store/access/credentials.js";
import { findSession } from "../store/access/sessions.js";
import type { Database } from "../store/database.js";
import { ruleCharacters } from "./access-rule.js";
import { type CachedCaller, type Caller, callingApplication, hasEnded } from "./caller.js";
import { isMarked, type PresentedKey, parseKey } from "./key-text.js";
import { requireNoFrame } from "./page-access.js";
import { templateCharacters } from "./pages.js";
import { Denied } from "./refusal.js";
import { isValidKey } from "./sealed-rights.js";
import { applicationCaller, sessionCaller } from "./stored-caller.js";

/**
 * How long a caller's rights are used without a new look-up: from the start of their load, or from the tenant's last
 * transaction that confirmed the revision. The revision guards whatever acts or answers, so this time bounds refusals alone
 * (decision 0008). With 4 s, each request of 10,000 tenants that have one every 10 s was looked up.
 */
const FRESH_MS = 60_000;

/**
 * Concurrent look-ups of unverified keys, and how many more may wait. Each public key contains its tenant's id. Without
 * these limits, made-up keys could fill the tenant's 160 places, and its own requests would be rejected.
 */
const UNVERIFIED_AT_ONCE = 32;
const UNVERIFIED_WAITING = 2_000;

/** Estimated memory of all callers that are kept. A tenant can have thousands of sessions with many rules. */
const MAX_LOADED_BYTES = 64 * 1024 * 1024;

function loadedBytes({ caller }: Loaded): number {
  const rules = caller.grant.layers.flatMap((layer) => layer.rules);
  const templates = 2 * templateCharacters(callingApplication(caller).pages?.templates ?? []);
  return rules.reduce((sum, rule) => sum + 1_000 + 2 * ruleCharacters(rule), 1_000 + templates);
}

interface Loaded {
  readonly caller: CachedCaller;
  readonly since: number;
  /** Whether its rights turned out to be old. It is then looked up as a key that was valid before. */
  readonly isOld?: boolean;
}

/**
 * Rights are cached for a minute after their last confirmation. A revoked key still works nowhere, because the
 * revision at which the rights were read guards every transaction. Unknown keys are never cached.
 */
export class Authenticator {
  readonly #database: Database;
  readonly #keyring: TenantKeySource;
  readonly #clock: Clock;
  readonly #onRefused: (refused: RefusedCredential) => void;
  /** By a digest of the key, to keep the key's text out of memory. */
  readonly #loaded = new LRUCache<string, Loaded>({
    max: 20_000,
    maxSize: MAX_LOADED_BYTES,
    sizeCalculation: loadedBytes,
  });
  readonly #loading = new Map<string, Promise<CachedCaller>>();
  readonly #unverified = new Semaphore(UNVERIFIED_AT_ONCE, UNVERIFIED_WAITING);

  /**
   * @param keyring gets the revision at which a tenant's caller was found before the caller is used.
   * @param onRefused called for each request with a key that is well-formed and not valid.
   */
  constructor(
    database: Database,
    keyring: TenantKeySource,
    clock: Clock,
    onRefused: (refused: RefusedCredential) => void = () => {},
  ) {
    this.#database = database;
    this.#keyring = keyring;
    this.#clock = clock;
    this.#onRefused = onRefused;
  }

  /**
   * The caller of a key, for operations that no page may use.
   * @throws as {@link identify}; {Denied} permission_denied for a key that works in frames only.
   */
  async authenticate(keyText: string | undefined, context: AuditContext): Promise<Caller> {
    return this.judge(keyText, context, async (holder) => {
      requireNoFrame(holder);
      return holder;
    });
  }

  /**
   * Identifies the holder of a key and judges it. If that is denied, the holder is looked up and judged again: no
   * transaction guards the rights that a denial is based on, and they may be up to a minute old.
   * @throws as {@link identify} and `verdict`.
   */
  async judge<T>(
    keyText: string | undefined,
    context: AuditContext,
    verdict: (holder: Caller) => Promise<T>,
  ): Promise<T> {
    try {
      return await verdict(await this.identify(keyText, context));
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      this.forget(keyText ?? "");
      return verdict(await this.identify(keyText, context));
    }
  }

  /** The holder of a key whose rights are fresh. Undefined: {@link identify} looks it up. */
  knownHolder(keyText: string, context: AuditContext): Caller | undefined {
    return this.#freshHolder(digest("sha256", keyText, "base64"), context);
  }

  /**
   * The holder of a key. `src/access/page-access.ts` has to decide whether it may call.
   * @throws {Fault} unauthenticated for every invalid key, without a reason; unavailable if too many unverified keys
   * arrive.
   */
  async identify(keyText: string | undefined, context: AuditContext): Promise<Caller> {
    if (!keyText) throw new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
    const id = digest("sha256", keyText, "base64");
    const holder = this.#freshHolder(id, context);
    if (holder) return holder;
    let loading = this.#loading.get(id);
    if (!loading) {
      loading = this.#load(id, keyText, this.#loaded.has(id)).finally(() => this.#loading.delete(id));
      this.#loading.set(id, loading);
    }
    try {
      return { ...(await loading), context };
    } catch (error) {
      const key = error instanceof Fault && error.code === "unauthenticated" ? parseKey(keyText) : undefined;
      if (key) this.#onRefused({ ...key, context });
      throw error;
    }
  }

  /**
   * An application of the tenant as a caller, for code that acts as the application.
   * @param revision that a transaction has just confirmed: what was read at another one is read again.
   * @returns undefined if the application does not exist.
   */
  async application(
    tenantId: TenantId,
    id: Uuid,
    context: AuditContext,
    revision?: number,
  ): Promise<Caller | undefined> {
    const name = `${tenantId} ${id}`;
    const known = this.#freshHolder(name, context);
    if (known && (revision === undefined || known.revision === revision)) return known;
    const since = performance.now();
    const row = await this.#database.of(tenantId).shared((tx) => tx.query(findApplicationRights, id));
    if (!row) return undefined;
    const keys = await this.#keyring.of(tenantId, row.revision);
    const caller = applicationCaller(keys, row, undefined);
    this.#keyring.expect(tenantId, caller.revision);
    this.#loaded.set(name, { caller, since });
    return { ...caller, context };
  }

  forgetApplication(tenantId: TenantId, id: Uuid): void {
    this.#loaded.delete(`${tenantId} ${id}`);
  }

  /** The tenant of a key at its last look-up; undefined if that is forgotten. Says nothing about its rights. */
  presentedTenant(keyText: string): TenantId | undefined {
    return this.#loaded.peek(digest("sha256", keyText, "base64"))?.caller.tenantId;
  }

  /** The same for a secret key. Those of public applications, and of their sessions, are in pages. */
  tenantOfSecret(keyText: string): TenantId | undefined {
    const caller = this.#loaded.peek(digest("sha256", keyText, "base64"))?.caller;
    const isSecret = caller?.principal.kind === "application" && caller.principal.type !== "public";
    return isSecret ? caller.tenantId : undefined;
  }

  /** Drops the cached rights of a key, after they turned out to be old. */
  forget(keyText: string): void {
    const id = digest("sha256", keyText, "base64");
    const known = this.#loaded.peek(id);
    if (known) this.#loaded.set(id, { ...known, isOld: true });
  }

  #freshHolder(id: string, context: AuditContext): Caller | undefined {
    const known = this.#loaded.get(id);
    return known && this.#isFresh(known) ? { ...known.caller, context } : undefined;
  }

  async #load(id: string, keyText: string, isKnown: boolean): Promise<CachedCaller> {
    const key = parseKey(keyText);
    if (!key) throw UNKNOWN_KEY;
    if (!isKnown && !isMarked(await this.#keyring.keyMark(), keyText)) throw UNKNOWN_KEY;
    if (!isKnown && this.#unverified.isFull) throw unavailable("too many keys that are not known come at once");
    const since = performance.now();
    const caller = await (isKnown ? this.#find(key) : this.#unverified.run(() => this.#find(key)));
    if (!caller) {
      this.#loaded.delete(id);
      throw UNKNOWN_KEY;
    }
    this.#keyring.expect(caller.tenantId, caller.revision);
    if (caller.grant.isEmpty) return caller;
    this.#loaded.set(id, { caller, since });
    return caller;
  }

  #isFresh({ caller, since, isOld = false }: Loaded): boolean {
    if (isOld || hasEnded(caller, this.#clock.now())) return false;
    const { tenantId, revision } = caller;
    const confirmedAt = this.#database.shared.confirmedAt(tenantId, revision);
    return performance.now() - Math.max(since, confirmedAt) < FRESH_MS;
  }

  async #find(key: PresentedKey): Promise<CachedCaller | undefined> {
    switch (key.kind) {
      case "pvt":
      case "pub":
      case "mgt": {
        const row = await this.#database.of(key.tenantId).shared((tx) => tx.query(findApplicationKey, key.hash));
        if (!row) return undefined;
        const keys = await this.#keyring.of(key.tenantId, row.revision);
        if (!isValidKey(keys, row, this.#clock.now())) return undefined;
        const caller = applicationCaller(keys, row, row.key_id);
        return row.key_expires_at ? { ...caller, endsAt: row.key_expires_at } : caller;
      }
      case "ses": {
        const row = await this.#database.of(key.tenantId).shared((tx) => tx.query(findSession, key.hash));
        return row ? sessionCaller(await this.#keyring.of(key.tenantId, row.revision), key, row) : undefined;
      }
      case "prx":
        return undefined;
    }
  }
}

/** Created once, because the stack of a new error costs as much as the check of a made-up key. */
const UNKNOWN_KEY = new Fault("unauthenticated", "The key in the header BT-API-KEY is not valid.");
