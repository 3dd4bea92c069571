import { newSecret, type PresentedSecret, parseSecret } from "../access/secret-text.js";
import { OPERATOR_CONTEXT } from "../audit/audit-context.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, invalid } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import type { Sensitive } from "../crypto/sensitive.js";
import { scheduleDue } from "../store/jobs/due.js";
import { insertMessage } from "../store/jobs/outbox.js";
import { findMemberByAddress, type MemberRow, readMember } from "../store/people/members.js";
import { consumeSignInRequest, readSignInRequest, type SignInRequestRow } from "../store/people/sign-in-requests.js";
import { emailTerm, openProfile } from "../tenancy/profile.js";
import { sharedMailKey } from "../tenancy/sign-in-mail.js";
import type { Tenants } from "../tenancy/tenants.js";
import { finishFirstFactor, type SignInStep } from "./finish-first-factor.js";
import { loggingRefusals, type SignInParts } from "./refused-sign-ins.js";
import { beginLinkSignIn, beginSignIn, openDetails } from "./sign-in-request.js";
import type { Visit } from "./visit.js";

export interface LinkParts {
  readonly tenants: Tenants;
}

export interface LinkRequest {
  readonly email: string;
  readonly id: Uuid;
  readonly hash: Buffer;
  /** A browser in which the member has signed in before. */
  readonly knownBrowser: string | undefined;
}

/**
 * Queues the message with a link, whether or not a member has the address: writeSignInMessage decides later, because
 * response and time must be the same for every address. A request for which another one's mail is under way gets none:
 * that link works in its browser too.
 */
export async function askForSignInLink(
  { tenants }: LinkParts,
  tenantId: TenantId,
  { email, id, hash, knownBrowser }: LinkRequest,
  { address, client }: Visit,
): Promise<void> {
  const tenant = await tenants.find(tenantId);
  // The response is the same for a tenant that does not exist.
  await tenant?.ordinary(async (tx) => {
    const mailKey = sharedMailKey(tx.keys, { email, knownBrowser }, tx.now);
    const hasMail = await beginLinkSignIn(tx, { id, hash, mailKey }, { email, address, client, hashes: [] });
    if (!hasMail) return;
    tx.enqueue(insertMessage, { id: newUuid(), sign_in_request_id: id });
    scheduleDue(tx, { kind: "mail", at: tx.now });
  });
}

/** Makes a link for a member that works in any browser, for the operator to hand over. */
export async function createOperatorLink(
  { tenants }: LinkParts,
  tenantId: TenantId,
  memberId: Uuid,
): Promise<Sensitive<string>> {
  const tenant = await tenants.of(tenantId);
  return tenant.ordinary(async (tx) => {
    const id = newUuid();
    const { text, hash } = newSecret("lnk", tenantId, id);
    beginSignIn(tx, { method: "operator", id }, { memberId, hashes: [hash.toString("hex")] });
    const details = { remark: "link by the operator", context: OPERATOR_CONTEXT };
    tx.log("sign_in", id, "authorize", details);
    return text;
  });
}

/**
 * Signs in with a link, once, or asks for the passkey of a member who has one. An attempt in another browser does not use
 * the link up.
 * @throws {Fault} validation_failed for a link that does not work; permission_denied in another browser.
 */
export async function takeSignInLink(
  { tenants, onRefused }: SignInParts,
  text: string,
  visit: Visit,
): Promise<SignInStep> {
  const link = parseSecret("lnk", text);
  if (!link) throw expiredOrUsed();
  return loggingRefusals(onRefused, { method: "link", secret: link, visit }, async () => {
    const tenant = await tenants.find(link.tenantId);
    const taken = await tenant?.ordinary((tx) => take(tx, link, visit));
    if (!taken) throw expiredOrUsed();
    return taken;
  });
}

async function take(
  tx: OrdinaryTenantTransaction,
  link: PresentedSecret,
  visit: Visit,
): Promise<SignInStep | undefined> {
  const row = await tx.query(readSignInRequest, link.id);
  if (!row || (row.method !== "link" && row.method !== "operator")) return undefined;
  const details = openDetails(tx.keys, row);
  if (!readLinkHashes(details).includes(link.hash.toString("hex"))) return undefined;
  if (row.browser_hash && !(await isOfAskingBrowser(tx, row, visit))) {
    throw new Fault("permission_denied", "Open this link in the browser where you asked for it, or ask for a new one.");
  }
  if (!(await tx.query(consumeSignInRequest, row.id))) return undefined;
  const member = await memberOfLink(tx, details);
  return member ? finishFirstFactor(tx, member, { method: row.method }, visit) : undefined;
}

/** Whether a browser asked for this link, or for another one to the same address, which this one serves as well. */
async function isOfAskingBrowser(tx: OrdinaryTenantTransaction, row: SignInRequestRow, visit: Visit): Promise<boolean> {
  const asking = parseSecret("ask", visit.cookie("asking") ?? "");
  if (!asking || asking.tenantId !== tx.tenantId) return false;
  if (asking.id === row.id) return row.browser_hash?.equals(asking.hash) === true;
  const own = await tx.query(readSignInRequest, asking.id);
  if (own?.method !== "link" || !own.browser_hash?.equals(asking.hash)) return false;
  const [asked, mailed] = [own, row].map((each) => openDetails(tx.keys, each).email);
  return typeof asked === "string" && typeof mailed === "string" && asked.toLowerCase() === mailed.toLowerCase();
}

/** The member that a request is for; undefined if the member is gone. */
async function memberOfLink(tx: TenantTransaction, details: JsonObject): Promise<MemberRow | null> {
  const { email, memberId } = details;
  if (typeof email === "string") return memberWithAddress(tx, email);
  return typeof memberId === "string" ? tx.query(readMember, memberId) : null;
}

/** The member with an address. The sealed profile must have it too: the column alone could be changed. */
export async function memberWithAddress(tx: TenantTransaction, email: string): Promise<MemberRow | null> {
  const row = await tx.query(findMemberByAddress, emailTerm(tx.keys, email));
  const own = row && openProfile(tx.keys, row).email;
  return own?.toLowerCase() === email.toLowerCase() ? row : null;
}

export function readLinkHashes({ hashes }: JsonObject): readonly string[] {
  return Array.isArray(hashes) ? hashes.map(String) : [];
}

function expiredOrUsed(): Fault {
  return invalid("link", "must be a link that is at most 10 minutes old and was not used: ask for a new one");
}
