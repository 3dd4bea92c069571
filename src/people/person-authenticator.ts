import { LRUCache } from "lru-cache";
import type { CachedCaller, Caller } from "../access/caller.js";
import { grantOfRole } from "../access/role-rights.js";
import { type PresentedSecret, parseSecret } from "../access/secret-text.js";
import { readSettings } from "../access/tenant-settings.js";
import type { AuditContext } from "../audit/audit-context.js";
import type { Clock } from "../base/clock.js";
import { Fault, unavailable } from "../base/fault.js";
import { lruEntries } from "../base/lru-entries.js";
import { Semaphore } from "../base/semaphore.js";
import type { Database } from "../store/database.js";
import { findSignIn, type PresentedSignInRow, touchSignIn } from "../store/people/sign-ins.js";
import type { Keyring } from "../tenancy/keyring.js";
import { secondFactorUntil } from "./second-factor-time.js";
import { openSignIn } from "./sign-in.js";

/** Concurrent look-ups of cookies that have not been valid before, and how many more may wait, as for unverified keys. */
const UNVERIFIED_AT_ONCE = 32;
const UNVERIFIED_WAITING = 2_000;

/** The longest time between two records of a sign-in's use. */
const TOUCH_MS = 60_000;

/**
 * Finds the person of a sign-in. Each request reads the row: people make few requests, and a sign-in that was ended is
 * refused at once.
 */
export class PersonAuthenticator {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #unverified = new Semaphore(UNVERIFIED_AT_ONCE, UNVERIFIED_WAITING);
  /** By the hash of the cookie. */
  readonly #verified = new LRUCache<string, true>(lruEntries(10_000));

  /** @param idleMs time without a request after which a sign-in ends. */
  constructor(database: Database, keyring: Keyring, clock: Clock, idleMs: number) {
    this.#database = database;
    this.#keyring = keyring;
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  /**
   * @param isIdle whether the page made the request by itself. It does not extend the sign-in then.
   * @throws {Fault} unauthenticated for every sign-in that is over, without a reason.
   */
  async authenticate(cookie: string, isIdle: boolean, context: AuditContext): Promise<Caller> {
    const secret = parseSecret("sgn", cookie);
    if (!secret) throw over();
    const name = secret.hash.toString("base64");
    const row = this.#verified.has(name) ? await this.#find(secret) : await this.#findUnverified(secret);
    const known = row && (await this.#callerOf(secret, row));
    if (!known) {
      this.#verified.delete(name);
      throw over();
    }
    this.#verified.set(name, true);
    if (!isIdle && this.#idleFor(row) >= Math.min(TOUCH_MS, this.#idleMs / 4)) await this.#touch(secret, row);
    return { ...known, context };
  }

  #findUnverified(secret: PresentedSecret) {
    if (this.#unverified.isFull) throw unavailable("too many sign-ins that are not known come at once");
    return this.#unverified.run(() => this.#find(secret));
  }

  #find({ tenantId, hash }: PresentedSecret): Promise<PresentedSignInRow | null> {
    return this.#database.of(tenantId).shared((tx) => tx.query(findSignIn, hash));
  }

  async #callerOf({ tenantId, id }: PresentedSecret, row: PresentedSignInRow): Promise<CachedCaller | undefined> {
    if (row.id !== id || this.#idleFor(row) >= this.#idleMs) return undefined;
    const { role, containers } = openSignIn(await this.#keyring.of(tenantId, row.revision), row);
    // The role decides what the sign-in may do, so a sign-in under another role is over.
    if (role !== row.role) return undefined;
    this.#keyring.expect(tenantId, row.revision);
    return {
      tenantId,
      principal: {
        kind: "person",
        memberId: row.member_id,
        userId: row.user_id,
        role,
        containers,
        signInId: row.id,
        secondFactorUntil: secondFactorUntil(row.strong_at, new Date(this.#clock.now())),
      },
      keyId: undefined,
      endsAt: new Date(Math.min(row.expires_at.getTime(), row.last_seen_at.getTime() + this.#idleMs)),
      session: undefined,
      grant: grantOfRole(role),
      settings: readSettings(row.settings),
      eventTypes: row.event_types,
      revision: row.revision,
    };
  }

  #idleFor({ last_seen_at }: PresentedSignInRow): number {
    return this.#clock.now() - last_seen_at.getTime();
  }

  async #touch({ tenantId }: PresentedSecret, { id }: PresentedSignInRow): Promise<void> {
    await this.#database.of(tenantId).ordinary(async (tx) => tx.enqueue(touchSignIn, id));
  }
}

function over(): Fault {
  return new Fault("unauthenticated", "You are not signed in, or the sign-in has ended. Sign in again.");
}
