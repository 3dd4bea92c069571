import { createHash, randomBytes } from "node:crypto";
import { ALL, logEntry } from "../audit/log-entry.js";
import { toBase62 } from "../base/base-n.js";
import { Fault, invalid, notFound } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import { parseIsoTime } from "../base/iso-time.js";
import { Sensitive } from "../crypto/sensitive.js";
import { writeLog } from "../store/audit-logs.js";
import { noteDue } from "../store/due.js";
import { authorizeSession, findSessionByNonce, insertSession } from "../store/sessions.js";
import type { Transaction } from "../store/transaction.js";
import { type AccessRuleDraft, parseRights, writeRule } from "./access-rule.js";
import { actorOf, type Caller } from "./caller.js";
import { newKey } from "./key-text.js";
import type { ApplicationType } from "./permissions.js";
import { Refused, refuse } from "./refusal.js";

/** How long a session lives, unless its authorizer says otherwise. */
const LIFETIME_MS = 3 * 60_000;
/** Longer than any page is open; a session that outlives its purpose is a key that nobody watches. */
const LONGEST_MS = 24 * 60 * 60_000;

/** A session that was just made. Key and nonce are shown once. */
export interface NewSession {
  readonly key: Sensitive<string>;
  readonly nonce: Sensitive<string>;
  readonly expiresAt: Date;
}

/** The two operations on sessions ask for a kind of key, and not for a permission. */
export function isKeyOf(type: ApplicationType, { application, session }: Caller): boolean {
  return application.type === type && session === undefined;
}

/** Turns away a key of the wrong kind of application, with its row in the log. */
export async function refuseKind(tx: Transaction, caller: Caller, type: ApplicationType): Promise<Refused> {
  writeLog(tx, logEntry(actorOf(caller), "session", ALL, "refuse", `needs a ${type} application`));
  return new Refused(new Fault("permission_denied", `This takes the key of a ${type} application.`));
}

/** Makes a session without any rights, for a public application. */
export async function createSession(tx: Transaction, caller: Caller): Promise<NewSession> {
  const id = newUuid();
  const { text: key, hash } = newKey("ses", tx.tenantId);
  const nonce = toBase62(randomBytes(16), 22);
  const expiresAt = new Date(tx.now.getTime() + LIFETIME_MS);
  tx.tell(insertSession, {
    id,
    key_hash: hash,
    nonce_hash: hashOf(nonce),
    application_id: caller.application.id,
    expires_at: expiresAt,
  });
  noteDue(tx, { kind: "session", at: expiresAt });
  writeLog(tx, logEntry(actorOf(caller), "session", id, "create"));
  return { key, nonce: new Sensitive(nonce), expiresAt };
}

/** What a session is to be given. */
export interface SessionRequest {
  readonly nonce: string;
  readonly permissions: readonly string[];
  readonly rules: readonly AccessRuleDraft[];
  readonly expiresAt: string | undefined;
}

/**
 * Prepares the authorization of a session: its rights must be within those of the authorizer.
 * @throws {Fault} validation_failed for rights that are malformed or none at all.
 */
export function prepareAuthorization(caller: Caller, request: SessionRequest) {
  const rights = parseRights("session", request.permissions, request.rules);
  const exceeded = caller.grant.exceededBy(rights);
  return async (tx: Transaction): Promise<undefined | Refused> => {
    const expiresAt = request.expiresAt === undefined ? undefined : parseSessionExpiry(request.expiresAt, tx.now);
    const session = await tx.ask(findSessionByNonce, hashOf(request.nonce));
    if (!session) return new Refused(notFound("session"));
    if (exceeded) return refuse(tx, caller, exceeded, "session", session.id);
    const isFirst =
      session.authorized_by === null &&
      (await tx.ask(authorizeSession, {
        id: session.id,
        permissions: rights.permissions,
        rules: rights.rules.map(writeRule),
        authorized_by: caller.application.id,
        expires_at: expiresAt ?? session.expires_at,
      }));
    if (!isFirst) return new Refused(new Fault("conflict", "The nonce has been used already."));
    if (expiresAt) noteDue(tx, { kind: "session", at: expiresAt });
    writeLog(tx, logEntry(actorOf(caller), "session", session.id, "authorize"));
    return undefined;
  };
}

function parseSessionExpiry(text: string, now: Date): Date {
  const at = parseIsoTime(text);
  if (!at || at <= now || at.getTime() > now.getTime() + LONGEST_MS) {
    throw invalid("expires_at", "must be an ISO 8601 date-time within the next 24 hours");
  }
  return at;
}

function hashOf(nonce: string): Buffer {
  return createHash("sha256").update(nonce).digest();
}
