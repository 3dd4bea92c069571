import { LRUCache } from "lru-cache";
import { type Clock, HOUR_MS } from "../base/clock.js";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import { Fault } from "../base/fault.js";
import { isTenantId, type TenantId, type Uuid } from "../base/ids.js";
import { Semaphore } from "../base/semaphore.js";
import { macEquals, truncatedMac } from "../crypto/keyed-hash.js";
import type { TenantKeySource, TenantKeys } from "../crypto/tenant-keys.js";
import { type CredentialRow, findApplicationKey, findApplicationRights } from "../store/access/credentials.js";
import { findSession } from "../store/access/sessions.js";
import type { Database } from "../store/database.js";
import { unavailable } from "../store/postgres/database-error.js";
import { actorOf, type Caller } from "./caller.js";
import { parseKey } from "./key-text.js";
import { deniedWith } from "./refusal.js";
import { openRights, requireKeyIssuanceSeal } from "./sealed-rights.js";

/** How long a removed origin may still be let in. */
const CACHED_MS = 5_000;
/** How long a page may stay open before its fields must be loaded again. */
const LIFETIME_MS = 12 * HOUR_MS;
const OTHER_KEY = "was loaded with another key";
/** Look-ups for new frames at once, and how many more may wait: anyone may ask for a frame, by any name of a key. */
const AT_ONCE = 8;
const WAITING = 500;
/** Look-ups of one client, running or waiting. The frames of a page have one key, and share one look-up. */
const FOR_EACH_CLIENT = 64;

/** A public or session key, named by its hash: a page may show the name to anyone. */
export interface KeyName {
  readonly kind: "pub" | "ses";
  readonly tenantId: TenantId;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
}

const FORM = /^(pub|ses)_([0-9A-Za-z]{22})_([0-9A-Za-z_-]{43})$/;

/** Reads `pub_<tenant>_<SHA-256 of the key in base64url>`. Returns undefined for any other text. */
export function parseKeyName(text: string): KeyName | undefined {
  const [, kind, tenant = "", hash = ""] = FORM.exec(text) ?? [];
  const tenantId = expandUuid(tenant);
  if ((kind !== "pub" && kind !== "ses") || !tenantId || !isTenantId(tenantId)) return undefined;
  return { kind, tenantId, hash: Buffer.from(hash, "base64url") };
}

function textOf({ kind, tenantId, hash }: KeyName): string {
  return `${kind}_${compactUuid(tenantId)}_${hash.toString("base64url")}`;
}

/** The public application of a key. */
interface FramedApplication {
  readonly id: Uuid;
  readonly origins: readonly string[];
}

/** What a frame of a key gets with its document. */
export interface FramePass {
  readonly origins: readonly string[];
  /** Sent with the frame's requests: proves that the vault gave a frame to pages of this key. */
  readonly pass: string;
}

/**
 * Ties frames to the keys that they are for. A request from a frame comes from the vault's own origin, so its `Origin`
 * says nothing about the page. The pass says with which key the frame was loaded, and the frame adds the page's origin,
 * which `frame-ancestors` made the browser check.
 */
export class FramePasses {
  readonly #database: Database;
  readonly #keyring: TenantKeySource;
  readonly #clock: Clock;
  readonly #applications = new LRUCache<string, FramedApplication>({ max: 10_000, ttl: CACHED_MS });
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
    const { origins } = application;
    const until = (this.#clock.now() + LIFETIME_MS).toString(36);
    const keys = await this.#keyring.of(key.tenantId);
    return { origins, pass: `${until}.${proof(keys, key, until).toString("base64url")}` };
  }

  /**
   * Checks what a frame sends as `<pass> <name of its key> <origin of the page>`. The request has that key, or the key of
   * a session of the same application, which the frame created.
   * @param caller the caller of that key.
   * @throws {Denied} permission_denied if the pass is for another key, is over, or the origin is no longer allowed.
   */
  async require(sent: string, apiKey: string | undefined, caller: Caller): Promise<void> {
    const problem = await this.#problemOf(sent, apiKey);
    if (!problem) return;
    const fault = new Fault("permission_denied", `The frame that sends this ${problem}.`);
    throw deniedWith(caller, fault, "application", actorOf(caller).id, "frame");
  }

  async #problemOf(sent: string, apiKey: string | undefined): Promise<string | undefined> {
    const [pass = "", keyName = "", origin = ""] = sent.split(" ");
    const framed = parseKeyName(keyName);
    const used = parseKey(apiKey ?? "");
    if (!framed || !used || framed.tenantId !== used.tenantId) return OTHER_KEY;
    const [until = "", given = ""] = pass.split(".");
    const keys = await this.#keyring.of(framed.tenantId);
    if (!macEquals(proof(keys, framed, until), Buffer.from(given, "base64url"))) return OTHER_KEY;
    if (!(Number.parseInt(until, 36) > this.#clock.now())) return "was loaded too long ago. Reload the page";
    const application = await this.#applicationOf(framed);
    if (!application?.origins.includes(origin)) {
      return "is in a page that is not in allowed_origins of its application";
    }
    if (used.hash.equals(framed.hash)) return undefined;
    if (used.kind !== "ses") return OTHER_KEY;
    const session = await this.#applicationOf({ kind: "ses", tenantId: used.tenantId, hash: used.hash });
    return session?.id === application.id ? undefined : OTHER_KEY;
  }

  /** For anyone: within the client's share of the look-ups. */
  async #applicationFor(key: KeyName, client: string): Promise<FramedApplication | undefined> {
    const name = textOf(key);
    const known = this.#applications.get(name) ?? this.#pending.get(name);
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

  async #applicationOf(key: KeyName): Promise<FramedApplication | undefined> {
    const name = textOf(key);
    const known = this.#applications.get(name);
    if (known) return known;
    const found = await this.#find(key);
    if (found) this.#applications.set(name, found);
    return found;
  }

  async #find({ kind, tenantId, hash }: KeyName): Promise<FramedApplication | undefined> {
    const run = this.#database.shared.run.bind(this.#database.shared);
    if (kind === "ses") {
      const session = await run(tenantId, "unguarded", (tx) => tx.query(findSession, hash));
      if (!session) return undefined;
      const row = await run(tenantId, "unguarded", (tx) => tx.query(findApplicationRights, session.application_id));
      return row ? this.#allowedBy(tenantId, row) : undefined;
    }
    const row = await run(tenantId, "unguarded", (tx) => tx.query(findApplicationKey, hash));
    if (!row) return undefined;
    requireKeyIssuanceSeal(await this.#keyring.of(tenantId, row.revision), tenantId, { ...row, id: row.key_id });
    return this.#allowedBy(tenantId, row);
  }

  async #allowedBy(tenantId: TenantId, row: CredentialRow): Promise<FramedApplication | undefined> {
    if (row.type !== "public") return undefined;
    const keys = await this.#keyring.of(tenantId, row.revision);
    const { allowedOrigins: origins } = openRights(keys, tenantId, row.application_id, row.type, row);
    return { id: row.application_id, origins };
  }
}

function proof(keys: TenantKeys, key: KeyName, until: string): Buffer {
  return truncatedMac(keys.proof, ["cloakroom/frame/1", textOf(key), until]);
}
