import { hashOfSecret, newSecret, type PresentedSecret, parseSecret } from "../access/secret-text.js";
import { OPERATOR_CONTEXT } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault, invalid } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Database } from "../store/database.js";
import { scheduleDue } from "../store/jobs/due.js";
import { insertMessage } from "../store/jobs/outbox.js";
import { findMemberByAddress, type MemberRow, readMember } from "../store/people/members.js";
import { consumeSignInRequest, readSignInRequest } from "../store/people/sign-in-requests.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import type { Keyring } from "../tenancy/keyring.js";
import { emailTerm, openProfile } from "../tenancy/profile.js";
import { finishFirstFactor, type SignInStep } from "./finish-first-factor.js";
import { beginSignIn, openDetails } from "./sign-in-request.js";
import type { Visit } from "./visit.js";

export interface LinkParts {
  readonly database: Database;
  readonly keyring: Keyring;
}

/**
 * Queues the message with a link, whether or not a member has the address: writeSignInMessage decides later, because
 * response and time must be the same for every address.
 * @param asking the secret in the cookie of the asking browser.
 */
export async function askForSignInLink(
  { database, keyring }: LinkParts,
  tenantId: TenantId,
  email: string,
  asking: Sensitive<string>,
  { address, client }: Visit,
): Promise<void> {
  const keys = await keyring.find(tenantId);
  // The response is the same for a tenant that does not exist.
  if (!keys) return;
  await database.ordinary.run(tenantId, "unguarded", async (tx) => {
    const details = { email, address, client, hashes: [] };
    const id = beginSignIn(tx, keys, "link", hashOfSecret(asking.reveal()), details);
    tx.enqueue(insertMessage, { id: newUuid(), sign_in_request_id: id });
    scheduleDue(tx, { kind: "mail", at: tx.now });
  });
}

/** Makes a link for a member that works in any browser, for the operator to hand over. */
export async function createOperatorLink(
  { database, keyring }: LinkParts,
  tenantId: TenantId,
  memberId: Uuid,
): Promise<Sensitive<string>> {
  const keys = await keyring.of(tenantId);
  return database.ordinary.run(tenantId, "unguarded", async (tx) => {
    const id = newUuid();
    const { text, hash } = newSecret("lnk", tenantId, id);
    beginSignIn(tx, keys, "operator", null, { memberId, hashes: [hash.toString("hex")] }, { id });
    const details = { remark: "link by the operator", context: OPERATOR_CONTEXT };
    writeLog(tx, logEntry(undefined, "sign_in", id, "authorize", details));
    return text;
  });
}

/**
 * Signs in with a link, once, or asks for the passkey of a member who has one. An attempt in another browser does not use
 * the link up.
 * @throws {Fault} validation_failed for a link that does not work; permission_denied in another browser.
 */
export async function takeSignInLink(
  { database, keyring }: LinkParts,
  text: string,
  visit: Visit,
): Promise<SignInStep> {
  const link = parseSecret("lnk", text);
  if (!link) throw expiredOrUsed();
  const keys = await keyring.find(link.tenantId);
  if (!keys) throw expiredOrUsed();
  const taken = await database.ordinary.run(link.tenantId, "unguarded", (tx) => take(tx, keys, link, visit));
  if (taken === "other_browser") {
    throw new Fault("permission_denied", "Open this link in the browser where you asked for it, or ask for a new one.");
  }
  if (!taken) throw expiredOrUsed();
  return taken;
}

async function take(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  link: PresentedSecret,
  visit: Visit,
): Promise<SignInStep | "other_browser" | undefined> {
  const row = await tx.query(readSignInRequest, link.id);
  if (!row || (row.method !== "link" && row.method !== "operator")) return undefined;
  const details = openDetails(keys, tx.tenantId, row);
  if (!linkHashesOf(details).includes(link.hash.toString("hex"))) return undefined;
  const asking = visit.cookie("asking");
  if (row.browser_hash && !(asking && hashOfSecret(asking).equals(row.browser_hash))) {
    writeLog(tx, logEntry(undefined, "sign_in", row.id, "refuse", "another browser"));
    return "other_browser";
  }
  if (!(await tx.query(consumeSignInRequest, row.id))) return undefined;
  const member = await memberOf(tx, keys, details);
  return member ? finishFirstFactor(tx, keys, member, row.method, visit) : undefined;
}

/** The member that a request is for; undefined if the member is gone. */
async function memberOf(tx: Transaction, keys: TenantKeys, details: JsonObject): Promise<MemberRow | null> {
  const { email, memberId } = details;
  if (typeof email === "string") return memberWithAddress(tx, keys, email);
  return typeof memberId === "string" ? tx.query(readMember, memberId) : null;
}

/** The member with an address. The sealed profile must have it too: the column alone could be changed. */
export async function memberWithAddress(tx: Transaction, keys: TenantKeys, email: string): Promise<MemberRow | null> {
  const row = await tx.query(findMemberByAddress, emailTerm(keys, email));
  const own = row && openProfile(keys, tx.tenantId, row.id, row.profile).email;
  return own?.toLowerCase() === email.toLowerCase() ? row : null;
}

/** The hashes of the links of a request. */
export function linkHashesOf({ hashes }: JsonObject): readonly string[] {
  return Array.isArray(hashes) ? hashes.map(String) : [];
}

function expiredOrUsed(): Fault {
  return invalid("link", "must be a link that is at most 10 minutes old and was not used: ask for a new one");
}
