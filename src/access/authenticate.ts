import { hash as digest } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { AuditContext } from "../audit/audit-context.js";
import type { RefusedKey } from "../audit/refused-keys.js";
import type { Clock } from "../base/clock.js";
import { Fault } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { Semaphore } from "../base/semaphore.js";
import type { TenantKeySource, TenantKeys } from "../crypto/tenant-keys.js";
import { type CredentialRow, findApplicationKey, findApplicationRights } from "../store/access/credentials.js";
import { findSession, type SessionRow } from "../store/access/sessions.js";
import type { Database } from "../store/database.js";
import { unavailable } from "../store/postgres/database-error.js";
import { type AccessRights, charactersOf, parseRights, readRule } from "./access-rule.js";
import type { CachedCaller, Caller } from "./caller.js";
import { Grant } from "./grant.js";
import { type PresentedKey, parseKey } from "./key-text.js";
import { isApplicationType } from "./permissions.js";
import { openRights, openSessionRights, requireKeyIssuanceSeal } from "./sealed-rights.js";
import { readSettings } from "./tenant-settings.js";

/**
 * How long a caller's rights are used without a new look-up: from the start of their load, or from the tenant's last
 * transaction that confirmed the revision. Without it, a thousand tenants with one request a second each would be
 * looked up in every fourth transaction.
 */
const FRESH_MS = 4_000;

/**
 * Concurrent look-ups of unverified keys, and how many more may wait. Each public key contains its tenant's id. Without
 * these limits, made-up keys could fill the tenant's 160 places, and its own requests would be rejected.
 */
const UNVERIFIED_AT_ONCE = 32;
const UNVERIFIED_WAITING = 2_000;

/** Estimated memory of all callers that are kept. A tenant can have thousands of sessions with many rules. */
const MAX_LOADED_BYTES = 64 * 1024 * 1024;

function bytesOf({ grant }: CachedCaller): number {
  const rules = grant.layers.flatMap((layer) => layer.rules);
  return rules.reduce((sum, rule) => sum + 1_000 + 2 * charactersOf(rule), 1_000);
}

interface Loaded {
  readonly caller: CachedCaller;
  readonly since: number;
  /** Whether its rights turned out to be old. It is then looked up as a key that was valid before. */
  readonly isOld?: boolean;
}

/**
 * Finds the caller of a key. Rights are cached for four seconds after their last confirmation. A revoked key still
 * works nowhere, because the revision at which the rights were read guards every transaction. Unknown keys are never
 * cached.
 */
export class Authenticator {
  readonly #database: Database;
  readonly #keyring: TenantKeySource;
  readonly #clock: Clock;
  readonly #onRefused: (refused: RefusedKey) => void;
  /** By a digest of the key, to keep the key's text out of memory. */
  readonly #loaded = new LRUCache<string, Loaded>({
    ...{ max: 20_000, maxSize: MAX_LOADED_BYTES },
    sizeCalculation: ({ caller }) => bytesOf(caller),
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
    onRefused: (refused: RefusedKey) => void = () => {},
  ) {
    this.#database = database;
    this.#keyring = keyring;
    this.#clock = clock;
    this.#onRefused = onRefused;
  }

  /**
   * @throws {Fault} unauthenticated for every invalid key, without a reason; unavailable if too many unverified keys
   * arrive.
   */
  async authenticate(keyText: string | undefined, context: AuditContext): Promise<Caller> {
    if (!keyText) throw new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
    const id = digest("sha256", keyText, "base64");
    const known = this.#loaded.get(id);
    if (known && this.#isFresh(known)) return { ...known.caller, context };
    let loading = this.#loading.get(id);
    if (!loading) {
      loading = this.#load(id, keyText, known !== undefined).finally(() => this.#loading.delete(id));
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
   * @returns undefined if the application does not exist.
   */
  async application(tenantId: TenantId, id: Uuid, context: AuditContext): Promise<Caller | undefined> {
    const name = `${tenantId} ${id}`;
    const known = this.#loaded.get(name);
    if (known && this.#isFresh(known)) return { ...known.caller, context };
    const since = performance.now();
    const row = await this.#database.shared.run(tenantId, "unguarded", (tx) => tx.query(findApplicationRights, id));
    if (!row) return undefined;
    const keys = await this.#keyring.of(tenantId, row.revision);
    const caller = callerOf(keys, tenantId, row, undefined);
    this.#keyring.expect(tenantId, caller.revision);
    this.#loaded.set(name, { caller, since });
    return { ...caller, context };
  }

  forgetApplication(tenantId: TenantId, id: Uuid): void {
    this.#loaded.delete(`${tenantId} ${id}`);
  }

  /** The tenant of a key at its last look-up; undefined if that is forgotten. Says nothing about its rights. */
  tenantOf(keyText: string): TenantId | undefined {
    return this.#loaded.peek(digest("sha256", keyText, "base64"))?.caller.tenantId;
  }

  /** Drops the cached rights of a key, after they turned out to be old. */
  forget(keyText: string): void {
    const id = digest("sha256", keyText, "base64");
    const known = this.#loaded.peek(id);
    if (known) this.#loaded.set(id, { ...known, isOld: true });
  }

  async #load(id: string, keyText: string, isKnown: boolean): Promise<CachedCaller> {
    const key = parseKey(keyText);
    if (!key) throw unknownKey();
    if (!isKnown && this.#unverified.isFull) throw unavailable("too many keys that are not known come at once");
    const since = performance.now();
    const caller = await (isKnown ? this.#find(key) : this.#unverified.run(() => this.#find(key)));
    if (!caller) {
      this.#loaded.delete(id);
      throw unknownKey();
    }
    this.#keyring.expect(caller.tenantId, caller.revision);
    if (caller.grant.isEmpty) return caller;
    this.#loaded.set(id, { caller, since });
    return caller;
  }

  #isFresh({ caller: { tenantId, revision, session }, since, isOld = false }: Loaded): boolean {
    if (isOld) return false;
    if (session && session.expiresAt.getTime() <= this.#clock.now()) return false;
    const confirmedAt = this.#database.shared.confirmedAt(tenantId, revision);
    return performance.now() - Math.max(since, confirmedAt) < FRESH_MS;
  }

  async #find(key: PresentedKey): Promise<CachedCaller | undefined> {
    switch (key.kind) {
      case "pvt":
      case "pub":
      case "mgt": {
        const row = await this.#database.shared.run(key.tenantId, "unguarded", (tx) =>
          tx.query(findApplicationKey, key.hash),
        );
        if (!row) return undefined;
        const keys = await this.#keyring.of(key.tenantId, row.revision);
        requireKeyIssuanceSeal(keys, key.tenantId, { ...row, id: row.key_id });
        return callerOf(keys, key.tenantId, row, row.key_id);
      }
      case "ses": {
        const row = await this.#database.shared.run(key.tenantId, "unguarded", (tx) => tx.query(findSession, key.hash));
        return row ? sessionCallerOf(await this.#keyring.of(key.tenantId, row.revision), key, row) : undefined;
      }
      case "prx":
        return undefined;
    }
  }
}

/** A session acts for its public application. It has no rights until it is authorized. */
function sessionCallerOf(keys: TenantKeys, { tenantId }: PresentedKey, row: SessionRow): CachedCaller {
  const type = row.application_type;
  if (!isApplicationType(type)) throw new Error("an application of unknown type is stored");
  const own = sessionRightsOf(keys, tenantId, row);
  const within = authorizerRightsOf(keys, tenantId, row);
  // Without its authorizer a session has no rights either.
  const rights = own && within ? own : NOTHING;
  return {
    tenantId,
    principal: { kind: "application", id: row.application_id, type },
    keyId: undefined,
    session: { id: row.id, expiresAt: row.expires_at },
    grant: new Grant(rights, within && new Grant(within)),
    settings: readSettings(row.settings),
    revision: row.revision,
  };
}

const NOTHING: AccessRights = { permissions: [], rules: [] };

function sessionRightsOf(keys: TenantKeys, tenantId: TenantId, row: SessionRow): AccessRights | undefined {
  const sealed = openSessionRights(keys, tenantId, row);
  if (sealed) return sealed;
  const { permissions, rules } = row;
  return permissions && rules ? parseRights("session", permissions, rules.map(readRule)) : undefined;
}

/** The current rights of a session's authorizer. Undefined if it has none. */
function authorizerRightsOf(keys: TenantKeys, tenantId: TenantId, row: SessionRow): AccessRights | undefined {
  const { authorized_by: id, authorizer_type: type } = row;
  if (id === null || type === null || !isApplicationType(type)) return undefined;
  return openRights(keys, tenantId, id, type, {
    name: "",
    definition: row.authorizer_definition,
    permissions: row.authorizer_permissions ?? [],
    rules: row.authorizer_rules ?? [],
  });
}

function callerOf(keys: TenantKeys, tenantId: TenantId, row: CredentialRow, keyId: Uuid | undefined): CachedCaller {
  const { type } = row;
  if (!isApplicationType(type)) throw new Error("an application of unknown type is stored");
  const rights = openRights(keys, tenantId, row.application_id, type, row);
  return {
    tenantId,
    principal: { kind: "application", id: row.application_id, type },
    keyId,
    session: undefined,
    grant: new Grant(rights),
    settings: readSettings(row.settings),
    revision: row.revision,
  };
}

function unknownKey(): Fault {
  return new Fault("unauthenticated", "The key in the header BT-API-KEY is not valid.");
}
