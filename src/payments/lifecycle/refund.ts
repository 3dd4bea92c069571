import type { Uuid } from "../../base/ids.js";
import { sealedRecord } from "../../crypto/sealed-record.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { RefundRow } from "../../store/payments/refunds.js";
import { AAD_COLUMNS } from "../../store/tenancy/sealed-columns.js";
import type { ErrorCode } from "../contract/error-code.js";
import type { FollowUpOutcome } from "../contract/outcome.js";
import type { Payment } from "./payment.js";

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

/** The refund that a payment's attempt describes, not yet sent. */
export function plannedRefund({ id, order, attempt }: Payment, reason: string | undefined, now: Date): Refund {
  if (!attempt?.refundId) throw new Error("the payment has no refund under way");
  return {
    id: attempt.refundId,
    paymentId: id,
    status: "processing",
    amount: attempt.amount,
    currency: order.currency,
    reason,
    errorCode: undefined,
    providerId: undefined,
    updatedAt: now.getTime(),
    createdAt: now,
  };
}

/** An ended refund stays unchanged, unless its money came back: then it has failed, permanently. */
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

export function totalRefunded(refunds: readonly Refund[]): number {
  return refunds.filter(({ status }) => status === "succeeded").reduce((sum, { amount }) => sum + amount, 0);
}

/** The amount that cannot be refunded again, because it was returned or may be on its way. */
export function totalRefundedOrProcessing(refunds: readonly Refund[]): number {
  return refunds
    .filter(({ status }) => status === "processing" || status === "succeeded")
    .reduce((sum, { amount }) => sum + amount, 0);
}

export function openRefund(keys: TenantKeys, row: RefundRow): Refund {
  return {
    ...refundRecord.open(keys, row, row.record),
    id: row.id,
    paymentId: row.payment_id,
    createdAt: row.created_at,
  };
}

export function sealRefund(keys: TenantKeys, { id, paymentId, createdAt, ...record }: Refund) {
  const plain = { id, payment_id: paymentId };
  return { ...plain, record: refundRecord.seal(keys, plain, record) };
}

export const refundRecord = sealedRecord({
  field: "refund",
  bound: AAD_COLUMNS.refunds,
  write: (record: RefundRecord) => record,
});
