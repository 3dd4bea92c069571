import { createHash, randomBytes } from "node:crypto";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { toBase62 } from "../base/base-n.js";
import { DAY_MS } from "../base/clock.js";
import { Fault, invalid, notFound } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import { parseIsoTime } from "../base/iso-time.js";
import { clientNetwork } from "../base/network.js";
import { Sensitive } from "../crypto/sensitive.js";
import {
  authorizeSession,
  findSessionByNonce,
  insertSession,
  type SessionAuthorization,
  type SessionColumns,
} from "../store/access/sessions.js";
import { scheduleDue } from "../store/jobs/due.js";
import { type AccessRights, type AccessRuleDraft, parseRights, requireRulesSize } from "./access-rule.js";
import { type Caller, callingApplication, type SessionFrame } from "./caller.js";
import type { CallerTransaction } from "./caller-transaction.js";
import { endWithin, usualEnd } from "./key-end.js";
import { newKey } from "./key-text.js";
import type { ApplicationType } from "./permissions.js";
import { type Denied, denied, deniedWith } from "./refusal.js";
import { openSessionRights, type SessionRights, sealSessionRights } from "./sealed-rights.js";
import { type FrameDemand, parseFrameDemand, requireFrame } from "./session-frame.js";

/** A session's lifetime, unless its authorizer sets another. */
const LIFETIME_MS = 3 * 60_000;
/** Longer than any page stays open. A session that outlives its purpose is a key that no one watches. */
const MAX_MS = DAY_MS;

const NO_RIGHTS: AccessRights = { permissions: [], rules: [] };

/** A new session. Its key and nonce are shown once. */
export interface NewSession {
  readonly key: Sensitive<string>;
  readonly nonce: Sensitive<string>;
  readonly expiresAt: Date;
}

/** The two operations on sessions require a kind of key instead of a permission. */
export function isKeyOfType(type: ApplicationType, { principal, session }: Caller): boolean {
  return principal.kind === "application" && principal.type === type && session === undefined;
}

/** Denies a key of the wrong kind of application. */
export function wrongApplicationType(caller: Caller, type: ApplicationType): Denied {
  const fault = new Fault("permission_denied", `This takes the key of a ${type} application.`);
  return deniedWith(caller, fault, `needs a ${type} application`, { type: "session", id: ANY_ENTITY_ID });
}

/** Makes a session without rights, for a public application. A frame's session works in this frame only. */
export async function createSession(tx: CallerTransaction): Promise<NewSession> {
  const id = newUuid();
  const { text: key, hash } = newKey("ses", tx.tenantId, tx.keys);
  const nonce = toBase62(randomBytes(16), 22);
  const expiresAt = usualEnd(tx.caller, new Date(tx.now.getTime() + LIFETIME_MS));
  const columns = {
    id,
    key_hash: hash,
    nonce_hash: nonceHash(nonce),
    application_id: callingApplication(tx.caller).id,
    expires_at: expiresAt,
  };
  const frame = frameOf(tx.caller);
  const held = { ...NO_RIGHTS, ...(frame ? { frame } : {}) };
  const rights = sealSessionRights(tx.keys, { ...columns, authorized_by: null }, held);
  tx.enqueue(insertSession, { ...columns, rights });
  scheduleDue(tx, { kind: "session", at: expiresAt });
  tx.log("session", id, "create");
  return { key, nonce: new Sensitive(nonce), expiresAt };
}

function frameOf({ frame, context }: Caller): SessionFrame | undefined {
  return (
    frame && { pass: frame.pass, network: context.address === undefined ? undefined : clientNetwork(context.address) }
  );
}

export interface SessionRequest extends FrameDemand {
  readonly nonce: string;
  readonly permissions: readonly string[];
  readonly rules: readonly AccessRuleDraft[];
  readonly expiresAt: string | undefined;
}

/**
 * Prepares the authorization of a session. Its rights must be within the authorizer's now; at each request they are
 * limited again by the rights that the authorizer has then (`Grant`).
 * @throws {Fault} validation_failed if the rights are malformed or empty.
 */
export function prepareAuthorization(caller: Caller, request: SessionRequest) {
  const rights = parseRights("session", request.permissions, request.rules);
  requireRulesSize(rights.rules);
  const exceeded = caller.grant.exceededBy(rights);
  const demand = parseFrameDemand(request);
  return async (tx: CallerTransaction): Promise<void> => {
    const expiresAt = requestedEnd(request, tx);
    const session = await tx.query(findSessionByNonce, nonceHash(request.nonce));
    if (!session) throw notFound("session");
    if (exceeded) throw denied(caller, exceeded, "session", session.id);
    // The nonce must be the one issued with the session. Opening the seal proves it: the nonce's hash is bound to it
    // (`AAD_COLUMNS.sessions`).
    const frame = openSessionRights(tx.keys, session).frame;
    requireFrame(caller, session.id, frame, demand);
    const held = { ...rights, ...(frame ? { frame } : {}) };
    const isFirst =
      session.authorized_by === null &&
      (await tx.query(authorizeSession, authorizationOf(tx, session, held, expiresAt)));
    if (!isFirst) throw new Fault("conflict", "The nonce has been used already.");
    if (expiresAt) scheduleDue(tx, { kind: "session", at: expiresAt });
    tx.log("session", session.id, "authorize");
  };
}

function authorizationOf(
  { keys, caller }: CallerTransaction,
  session: SessionColumns,
  held: SessionRights,
  expiresAt: Date | undefined,
): SessionAuthorization {
  const plain = {
    id: session.id,
    authorized_by: callingApplication(caller).id,
    expires_at: expiresAt ?? usualEnd(caller, session.expires_at),
  };
  return { ...plain, rights: sealSessionRights(keys, { ...session, ...plain }, held) };
}

function requestedEnd({ expiresAt }: SessionRequest, { caller, now }: CallerTransaction): Date | undefined {
  return expiresAt === undefined ? undefined : endWithin(caller, parseSessionExpiry(expiresAt, now));
}

function parseSessionExpiry(text: string, now: Date): Date {
  const at = parseIsoTime(text);
  if (!at || at <= now || at.getTime() > now.getTime() + MAX_MS) {
    throw invalid("expires_at", "must be an ISO 8601 date-time within the next 24 hours");
  }
  return at;
}

function nonceHash(nonce: string): Buffer {
  return createHash("sha256").update(nonce).digest();
}
