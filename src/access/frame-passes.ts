import { LRUCache } from "lru-cache";
import { type Clock, HOUR_MS } from "../base/clock.js";
import { Fault, invalid, unavailable } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { lruEntries } from "../base/lru-entries.js";
import { Semaphore } from "../base/semaphore.js";
import type { TenantKeySource, TenantKeys } from "../crypto/tenant-keys.js";
import { type CredentialRow, findApplicationKey, findApplicationRights } from "../store/access/credentials.js";
import { findSession } from "../store/access/sessions.js";
import type { Database } from "../store/database.js";
import type { Caller, Frame } from "./caller.js";
import {
  isGenuine,
  type KeyName,
  newPassId,
  parseSentPass,
  type SentPass,
  writeKeyName,
  writePass,
} from "./frame-pass.js";
import { parseKey } from "./key-text.js";
import { type Denied, deniedWith } from "./refusal.js";
import { isValidKey, openRights } from "./sealed-rights.js";

/** How long a removed origin may still be let in. */
const CACHED_MS = 5_000;
/** How long a pass is good for. The frame renews it. */
const LIFETIME_MS = HOUR_MS / 4;
/** How long a page may stay open before its fields must be loaded again. */
const RENEWED_MS = 12 * HOUR_MS;
/** Look-ups for new frames at once, and how many more may wait: anyone may ask for a frame, by any name of a key. */
const AT_ONCE = 8;
const WAITING = 500;
/** Look-ups of one client, running or waiting. The frames of a page have one key, and share one look-up. */
const FOR_EACH_CLIENT = 64;

const OTHER_KEY = "was loaded with another key";
const OTHER_ORIGIN = "is in a page that is not in allowed_origins of its application";
const TOO_OLD = "was loaded too long ago. Reload the page";

interface FramedApplication {
  readonly id: Uuid;
  readonly origins: readonly string[];
  /** The end of its key or session, and of every pass for it. Infinite for a key without one. */
  readonly end: number;
}

export interface FramePass {
  readonly origins: readonly string[];
  /** Sent with the frame's requests: proves that the vault gave a frame to pages of this key. */
  readonly pass: string;
}

export interface RenewedPass {
  readonly pass: string;
  readonly until: Date;
}

/**
 * Makes frames principals of their own. A page holds the public key and writes the body of a request: both prove
 * nothing. The document of the frame that calls the API has a pass, which no page can read. It says with which key the
 * frame was loaded, and the frame adds the page's origin, which `frame-ancestors` made the browser check.
 */
export class FramePasses {
  readonly #database: Database;
  readonly #keyring: TenantKeySource;
  readonly #clock: Clock;
  readonly #applications = new LRUCache<string, FramedApplication>({ ...lruEntries(10_000), ttl: CACHED_MS });
  readonly #lookUps = new Semaphore(AT_ONCE, WAITING);
  /** Look-ups for new frames, running or waiting, by the name of the key. */
  readonly #pending = new Map<string, Promise<FramedApplication | undefined>>();
  readonly #pendingOf = new Map<string, number>();

  constructor(database: Database, keyring: TenantKeySource, clock: Clock) {
    this.#database = database;
    this.#keyring = keyring;
    this.#clock = clock;
  }

  /**
   * Returns undefined for a key that does not exist, or is no longer valid.
   * @param client the address that asks: it has a share of the look-ups.
   * @throws {Fault} unavailable if the client, or all of them, ask for the frames of too many keys at once.
   */
  async issue(key: KeyName, client: string): Promise<FramePass | undefined> {
    const application = await this.#applicationFor(key, client);
    if (!application) return undefined;
    const start = this.#clock.now();
    const facts = {
      key,
      applicationId: application.id,
      start,
      until: Math.min(start + LIFETIME_MS, application.end),
      id: newPassId(),
    };
    return { origins: application.origins, pass: writePass(await this.#keyring.of(key.tenantId), facts) };
  }

  /**
   * Another pass for the same document, also after its last one has ended: a computer may have slept.
   * @param client as for {@link issue}.
   * @throws {Fault} validation_failed for what is no pass; unauthenticated for one that this vault did not give, or whose
   * key is gone; permission_denied for another origin, or a page that is open for too long; unavailable.
   */
  async renew(sent: string, client: string): Promise<RenewedPass> {
    const pass = parseSentPass(sent);
    if (!pass) throw invalid("cloakroom-frame", "must be a pass, the name of its key and the page's origin");
    const application = await this.#applicationFor(pass.key, client);
    if (!application) throw unknownPass();
    const keys = await this.#keyring.of(pass.key.tenantId);
    if (!isGenuine(keys, pass, application.id)) throw unknownPass();
    const now = this.#clock.now();
    const end = pass.start + RENEWED_MS;
    if (now >= end) throw refused(TOO_OLD);
    if (!application.origins.includes(pass.origin)) throw refused(OTHER_ORIGIN);
    const until = Math.min(now + LIFETIME_MS, end, application.end);
    const { key, start, id } = pass;
    return {
      pass: writePass(keys, { key, applicationId: application.id, start, until, id }),
      until: new Date(until),
    };
  }

  /**
   * The frame that sends a request, by its pass. The request has the frame's key, or the key of a session that the frame
   * created. Costs one keyed hash, and no look-up.
   * @param sent `<pass> <name of its key> <origin of the page>`.
   * @param caller the holder of the request's key.
   * @throws {Denied} permission_denied if the pass is for another key, is over, or the origin is no longer allowed.
   */
  async frameOf(sent: string, apiKey: string | undefined, caller: Caller): Promise<Frame> {
    const pass = parseSentPass(sent);
    const problem = pass ? await this.#passProblem(pass, apiKey, caller) : OTHER_KEY;
    if (pass && !problem) return { pass: pass.id, origin: pass.origin };
    throw deniedTo(caller, problem ?? OTHER_KEY);
  }

  async #passProblem(pass: SentPass, apiKey: string | undefined, caller: Caller): Promise<string | undefined> {
    const { principal, tenantId, session } = caller;
    const used = parseKey(apiKey ?? "");
    if (principal.kind !== "application" || !used || pass.key.tenantId !== tenantId) return OTHER_KEY;
    if (!isGenuine(await this.#keyring.of(tenantId), pass, principal.id)) return OTHER_KEY;
    if (pass.until <= this.#clock.now()) return "has a pass that has ended. Renew it, or reload the page";
    if (!principal.pages?.allowedOrigins.includes(pass.origin)) return OTHER_ORIGIN;
    // The key of a session that something else created may be known to the page.
    if (session?.frame) return session.frame.pass === pass.id ? undefined : "did not create this session";
    return used.hash.equals(pass.key.hash) ? undefined : OTHER_KEY;
  }

  /** For anyone: within the client's share of the look-ups. */
  async #applicationFor(key: KeyName, client: string): Promise<FramedApplication | undefined> {
    const name = writeKeyName(key);
    const known = this.#known(name) ?? this.#pending.get(name);
    if (known) return known;
    const pendingOf = this.#pendingOf.get(client) ?? 0;
    if (this.#lookUps.isFull || pendingOf >= FOR_EACH_CLIENT) throw unavailable("too many frames are loaded at once");
    this.#pendingOf.set(client, pendingOf + 1);
    const pending = this.#lookUps.run(() => this.#applicationOf(key));
    this.#pending.set(name, pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(name);
      this.#release(client);
    }
  }

  #release(client: string): void {
    const left = (this.#pendingOf.get(client) ?? 1) - 1;
    if (left > 0) this.#pendingOf.set(client, left);
    else this.#pendingOf.delete(client);
  }

  #known(name: string): FramedApplication | undefined {
    const known = this.#applications.get(name);
    return known && known.end > this.#clock.now() ? known : undefined;
  }

  async #applicationOf(key: KeyName): Promise<FramedApplication | undefined> {
    const name = writeKeyName(key);
    const known = this.#known(name);
    if (known) return known;
    const found = await this.#find(key);
    if (found) this.#applications.set(name, found);
    return found;
  }

  async #find({ kind, tenantId, hash }: KeyName): Promise<FramedApplication | undefined> {
    const database = this.#database.of(tenantId);
    if (kind === "ses") {
      const session = await database.shared((tx) => tx.query(findSession, hash));
      if (!session) return undefined;
      const row = await database.shared((tx) => tx.query(findApplicationRights, session.application_id));
      return row ? allowedBy(await this.#keyring.of(tenantId, row.revision), row, session.expires_at) : undefined;
    }
    const row = await database.shared((tx) => tx.query(findApplicationKey, hash));
    if (!row) return undefined;
    const keys = await this.#keyring.of(tenantId, row.revision);
    return isValidKey(keys, row, this.#clock.now()) ? allowedBy(keys, row, row.key_expires_at) : undefined;
  }
}

function allowedBy(keys: TenantKeys, row: CredentialRow, end: Date | null): FramedApplication | undefined {
  const { type, application_id: id } = row;
  if (type !== "public") return undefined;
  const { allowedOrigins } = openRights(keys, { id, type, created_by: row.created_by }, row.definition);
  return { id, origins: allowedOrigins, end: end?.getTime() ?? Number.POSITIVE_INFINITY };
}

function unknownPass(): Fault {
  return new Fault("unauthenticated", `The frame that sends this ${OTHER_KEY}, or its key is no longer valid.`);
}

function refused(problem: string): Fault {
  return new Fault("permission_denied", `The frame that sends this ${problem}.`);
}

function deniedTo(caller: Caller, problem: string): Denied {
  return deniedWith(caller, refused(problem), "frame");
}
