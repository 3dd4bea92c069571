import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { encodeAad, open, SealBroken, type SealContext, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { scheduleDue } from "../store/jobs/due.js";
import { insertSignInRequest, type SignInRequestRow } from "../store/people/sign-in-requests.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import type { Transaction } from "../store/transactions/transaction.js";
import type { SignInMethod } from "./sign-in.js";

/** How long a sign-in that has begun can be completed (OWASP ASVS 5.0, 6.5.5). */
export const REQUEST_MS = 10 * 60_000;
export const REQUEST_SECONDS = REQUEST_MS / 1_000;

/** What waits for a person: a sign-in, the passkey's part of one, or a challenge of a passkey. */
type RequestKind = SignInMethod | "passkey" | "challenge";

/** Begins a sign-in. `browserHash` names the only browser that may complete it; null: any. */
export function beginSignIn(
  tx: Transaction,
  keys: TenantKeys,
  method: RequestKind,
  browserHash: Buffer | null,
  details: JsonObject,
  { id = newUuid(), lifetimeMs = REQUEST_MS }: { readonly id?: Uuid; readonly lifetimeMs?: number } = {},
): Uuid {
  const expiresAt = new Date(tx.now.getTime() + lifetimeMs);
  const columns = { id, method, browser_hash: browserHash, expires_at: expiresAt };
  tx.enqueue(insertSignInRequest, { ...columns, details: sealDetails(keys, tx.tenantId, columns, details) });
  scheduleDue(tx, { kind: "sign_in_request", at: expiresAt });
  return id;
}

type Place = Omit<SignInRequestRow, "details">;

export function sealDetails(keys: TenantKeys, tenantId: TenantId, row: Place, details: JsonObject): Buffer {
  return seal(keys.data, requestPlace(tenantId, row), Buffer.from(JSON.stringify(details)));
}

/** @throws {SealBroken} if no server wrote the request. */
export function openDetails(keys: TenantKeys, tenantId: TenantId, row: SignInRequestRow): JsonObject {
  const stored: Json = JSON.parse(open(keys.data, requestPlace(tenantId, row), row.details).toString());
  if (!isJsonObject(stored)) throw new SealBroken("the details of a sign-in request are not an object");
  return stored;
}

function requestPlace(tenantId: TenantId, row: Place): SealContext {
  return { tenantId, entity: row.id, field: "sign_in_request", bound: encodeAad(row, AAD_COLUMNS.sign_in_requests) };
}
