import type { TenantId, Uuid } from "../base/ids.js";
import { encodeAad, open, type SealContext, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { RefundRow } from "../store/payments/refunds.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import type { ErrorCode } from "./error-code.js";
import type { FollowUpOutcome } from "./outcome.js";

export type RefundStatus = "processing" | "succeeded" | "declined" | "failed" | "voided";

interface RefundRecord {
  readonly status: RefundStatus;
  readonly amount: number;
  readonly currency: string;
  readonly reason: string | undefined;
  readonly errorCode: ErrorCode | undefined;
  readonly providerId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
}

/** Captured money that is being returned. */
export interface Refund extends RefundRecord {
  readonly id: Uuid;
  readonly paymentId: Uuid;
  readonly createdAt: Date;
}

/**
 * The refund after a report of the payment service. An ended refund stays unchanged, unless its money came back: then
 * it has failed, permanently.
 */
export function applyRefundOutcome(refund: Refund, outcome: FollowUpOutcome, now: number): Refund {
  if (refund.status === "succeeded" && outcome.kind === "refused") {
    return { ...refund, status: "failed", errorCode: outcome.errorCode, updatedAt: now };
  }
  if (refund.status !== "processing") return refund;
  switch (outcome.kind) {
    case "done":
      return { ...refund, status: "succeeded", providerId: outcome.providerId ?? refund.providerId, updatedAt: now };
    case "refused":
      return { ...refund, status: outcome.as, errorCode: outcome.errorCode, updatedAt: now };
    case "accepted":
      return { ...refund, providerId: outcome.providerId ?? refund.providerId, updatedAt: now };
    case "unknown":
      return refund;
  }
}

/** The amount returned by our refunds. */
export function totalRefunded(refunds: readonly Refund[]): number {
  return refunds.filter(({ status }) => status === "succeeded").reduce((sum, { amount }) => sum + amount, 0);
}

/** The amount that cannot be refunded again, because it was returned or may be on its way. */
export function totalRefundedOrProcessing(refunds: readonly Refund[]): number {
  return refunds
    .filter(({ status }) => status === "processing" || status === "succeeded")
    .reduce((sum, { amount }) => sum + amount, 0);
}

export function openRefund(keys: TenantKeys, tenantId: TenantId, row: RefundRow): Refund {
  const record: RefundRecord = JSON.parse(open(keys.data, placeOf(tenantId, row), row.record).toString());
  return { ...record, id: row.id, paymentId: row.payment_id, createdAt: row.created_at };
}

export function sealRefund(keys: TenantKeys, tenantId: TenantId, { id, paymentId, createdAt, ...record }: Refund) {
  const plain = { id, payment_id: paymentId };
  return { ...plain, record: seal(keys.data, placeOf(tenantId, plain), Buffer.from(JSON.stringify(record))) };
}

function placeOf(tenantId: TenantId, row: Pick<RefundRow, "id" | (typeof AAD_COLUMNS.refunds)[number]>): SealContext {
  return { tenantId, entity: row.id, field: "refund", bound: encodeAad(row, AAD_COLUMNS.refunds) };
}
