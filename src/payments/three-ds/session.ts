import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { hashFingerprint } from "../../crypto/keyed-hash.js";
import { sealedRecord } from "../../crypto/sealed-record.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { ThreeDSSessionRow } from "../../store/payments/three-ds-sessions.js";
import { AAD_COLUMNS } from "../../store/tenancy/sealed-columns.js";

export type AuthenticationStatus = "successful" | "attempted" | "failed" | "unavailable" | "challenge" | "rejected";

/** The issuer's response. Times are milliseconds since the epoch. */
export interface Authentication {
  /** Identifies the card whose number was authenticated, and does not reveal it: the token may hold another one later. */
  readonly card: string;
  readonly status: AuthenticationStatus;
  /** EMV 3DS transStatus: Y, A, N, U, C or R. */
  readonly statusCode: string;
  readonly statusReason: string | undefined;
  readonly acsTransactionId: string;
  readonly dsTransactionId: string;
  readonly authenticationValue: string | undefined;
  readonly eci: string | undefined;
  readonly challengeType: "static" | "out-of-band" | undefined;
  readonly challengeMandated: boolean;
  readonly challengeAttempts: number;
  readonly challengeCancelReason: string | undefined;
  /** A challenge was begun, whatever its result. */
  readonly wasChallenged: boolean;
  /** The purchase's declared amount, the maximum for a payment. */
  readonly amount: number | undefined;
  /** Numeric ISO 4217. */
  readonly currency: string | undefined;
}

interface SessionRecord {
  readonly type: "customer" | "merchant";
  readonly device: "browser" | "app";
  readonly deviceInfo: JsonObject | undefined;
  readonly cardBrand: string | undefined;
  readonly createdBy: Uuid;
  readonly modifiedBy: Uuid | undefined;
  readonly modifiedAt: number | undefined;
  readonly authentication: Authentication | undefined;
}

export interface ThreeDSSession extends SessionRecord {
  readonly id: Uuid;
  readonly tokenId: string;
  /** The payment that used it. */
  readonly paymentId: Uuid | undefined;
  readonly revision: number;
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

export const THREE_DS_VERSION = "2.2.0";

export function authenticatedCard(keys: Pick<TenantKeys, "fingerprint">, number: string): string {
  return hashFingerprint(keys.fingerprint, "authenticated card", number).toString("base64");
}

export function openSession(keys: TenantKeys, row: ThreeDSSessionRow): ThreeDSSession {
  return {
    ...threeDSSessionRecord.open(keys, row, row.record),
    id: row.id,
    tokenId: row.token_id,
    paymentId: row.payment_id ?? undefined,
    revision: row.revision,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  };
}

export function sealSession(keys: TenantKeys, session: ThreeDSSession): Buffer {
  const { id, tokenId, paymentId, revision: _revision, expiresAt: _end, createdAt: _start, ...record } = session;
  return threeDSSessionRecord.seal(keys, { id, token_id: tokenId, payment_id: paymentId ?? null }, record);
}

export const threeDSSessionRecord = sealedRecord({
  field: "three_ds_session",
  bound: AAD_COLUMNS.three_ds_sessions,
  write: (record: SessionRecord) => record,
});
