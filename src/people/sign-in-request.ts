import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { newUuid, type Uuid } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { scheduleDue } from "../store/jobs/due.js";
import { insertMailedRequest, insertSignInRequest, type SignInRequestRow } from "../store/people/sign-in-requests.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import type { SignInMethod } from "./sign-in.js";

/** How long a sign-in that has begun can be completed (OWASP ASVS 5.0, 6.5.5). */
const REQUEST_MS = 10 * 60_000;
export const REQUEST_SECONDS = REQUEST_MS / 1_000;

/** What waits for a person: a sign-in, the passkey's part of one, or a challenge of a passkey. */
type RequestKind = SignInMethod | "passkey" | "challenge";

interface SignInRequest {
  readonly method: RequestKind;
  readonly id?: Uuid;
  /** Names the only browser that may complete it. Absent: any. */
  readonly browserHash?: Buffer;
  readonly lifetimeMs?: number;
}

export function beginSignIn(
  tx: TenantTransaction,
  { method, id = newUuid(), browserHash, lifetimeMs = REQUEST_MS }: SignInRequest,
  details: JsonObject,
): Uuid {
  const expiresAt = new Date(tx.now.getTime() + lifetimeMs);
  const columns = { id, method, browser_hash: browserHash ?? null, expires_at: expiresAt };
  tx.enqueue(insertSignInRequest, { ...columns, details: signInRequestRecord.seal(tx.keys, columns, details) });
  scheduleDue(tx, { kind: "sign_in_request", at: expiresAt });
  return id;
}

/**
 * Begins a sign-in by a mailed link. Requests with the same `mailKey` share one mail: the first gets it.
 * @returns whether this one gets a mail.
 */
export async function beginLinkSignIn(
  tx: TenantTransaction,
  { id, hash, mailKey }: { readonly id: Uuid; readonly hash: Buffer; readonly mailKey: Buffer },
  details: JsonObject,
): Promise<boolean> {
  const expiresAt = new Date(tx.now.getTime() + REQUEST_MS);
  const columns = { id, method: "link", browser_hash: hash, expires_at: expiresAt };
  const row = { ...columns, details: signInRequestRecord.seal(tx.keys, columns, details) };
  const isFirst = await tx.query(insertMailedRequest, { ...row, mail_key: mailKey });
  if (!isFirst) tx.enqueue(insertSignInRequest, row);
  scheduleDue(tx, { kind: "sign_in_request", at: expiresAt });
  return isFirst;
}

/** @throws {SealBroken} if no server wrote the request. */
export function openDetails(keys: TenantKeys, row: SignInRequestRow): JsonObject {
  return signInRequestRecord.open(keys, row, row.details);
}

/** The details of a request, by which its sign-in goes on. */
export const signInRequestRecord = sealedRecord({
  field: "sign_in_request",
  bound: AAD_COLUMNS.sign_in_requests,
  write: (details: JsonObject) => details,
});
