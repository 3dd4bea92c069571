import type { TenantId, Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { encodeAad, open, type SealContext, seal } from "../../crypto/sealed.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { ThreeDSSessionRow } from "../../store/payments/three-ds-sessions.js";
import { AAD_COLUMNS } from "../../store/tenancy/sealed-rows.js";

export type AuthenticationStatus = "successful" | "attempted" | "failed" | "unavailable" | "challenge" | "rejected";

/** The issuer's response. Times are milliseconds since the epoch. */
export interface Authentication {
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

/** An authentication of a cardholder, before a payment. */
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

export function openSession(keys: TenantKeys, tenantId: TenantId, row: ThreeDSSessionRow): ThreeDSSession {
  const record: SessionRecord = JSON.parse(open(keys.data, placeOf(tenantId, row), row.record).toString());
  return {
    ...record,
    ...{ id: row.id, tokenId: row.token_id, paymentId: row.payment_id ?? undefined, revision: row.revision },
    ...{ expiresAt: row.expires_at, createdAt: row.created_at },
  };
}

export function sealSession(keys: TenantKeys, tenantId: TenantId, session: ThreeDSSession): Buffer {
  const { id, tokenId, paymentId, revision: _revision, expiresAt: _end, createdAt: _start, ...record } = session;
  const place = placeOf(tenantId, { id, token_id: tokenId, payment_id: paymentId ?? null });
  return seal(keys.data, place, Buffer.from(JSON.stringify(record)));
}

type SessionPlace = Pick<ThreeDSSessionRow, "id" | (typeof AAD_COLUMNS.three_ds_sessions)[number]>;

function placeOf(tenantId: TenantId, row: SessionPlace): SealContext {
  return { tenantId, entity: row.id, field: "three_ds_session", bound: encodeAad(row, AAD_COLUMNS.three_ds_sessions) };
}
