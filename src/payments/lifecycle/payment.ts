import type { ContainerPath } from "../../access/container.js";
import { storedPaths } from "../../access/container.js";
import { compactUuid } from "../../base/compact-uuid.js";
import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { searchTerm } from "../../crypto/keyed-hash.js";
import { sealedRecord } from "../../crypto/sealed-record.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { PaymentRow } from "../../store/payments/payments.js";
import { AAD_COLUMNS } from "../../store/tenancy/sealed-columns.js";
import type { ErrorCode } from "../contract/error-code.js";
import type { FormulaId } from "../contract/formula.js";
import type { ProviderCodes, ThreeDSOutcome } from "../contract/outcome.js";
import type { AuthorizationRequest, Money, PaymentReference } from "../contract/payment-request.js";
import { type IntentOutcome, STATUSES, type Status } from "./transaction-states.js";

export interface CardSnapshot {
  readonly last4: string;
  readonly bin: string;
  readonly scheme: string | undefined;
  /** MM/YY. */
  readonly expirationDate: string | undefined;
  readonly fingerprint: string | undefined;
}

export interface ConnectionSnapshot {
  readonly formulaId: FormulaId;
  readonly method: "card";
  readonly displayName: string;
}

/** The caller's request. Never changes. */
export interface PaymentOrder
  extends Money,
    Pick<
      AuthorizationRequest,
      | "intent"
      | "country"
      | "externalIdentifier"
      | "paymentSource"
      | "isMerchantInitiated"
      | "isSubsequentPayment"
      | "previousSchemeTransactionId"
      | "threeDS"
    > {
  readonly metadata: JsonObject | undefined;
}

/** An operation at the payment service that is under way or whose end is unknown. A payment has at most one. */
export interface Attempt {
  readonly operation: "authorize" | "capture" | "void" | "refund";
  readonly key: string;
  readonly amount: number;
  readonly refundId?: Uuid;
  /** Identifies the account that it was sent to. Absent: planned, not sent yet. */
  readonly account?: string;
  /** Only for an authorization: identifies the card that was sent, without its number. */
  readonly card?: string;
  /**
   * `sent`: no response is stored yet; a process that finds it in the database treats it as `unknown`. `accepted`: the
   * payment service is working on it, so it is looked up and never resent.
   */
  readonly state: "sent" | "unknown" | "accepted";
  /** The payment service's id of the operation, once accepted. */
  readonly providerId?: string | undefined;
  /** Number of look-ups since. */
  readonly tries: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** The sealed part of a payment. Times are milliseconds since the epoch. */
export interface PaymentRecord {
  readonly order: PaymentOrder;
  readonly card: CardSnapshot;
  readonly connection: ConnectionSnapshot;
  /** Identifies the payment service's account that has the payment: the connection may lead to another one later. */
  readonly account?: string;
  readonly intentOutcome: IntentOutcome;
  readonly authorizedAmount: number;
  readonly capturedAmount: number;
  readonly refundedAmount: number;
  readonly schemeTransactionId: string | undefined;
  readonly errorCode: ErrorCode | undefined;
  readonly codes: ProviderCodes;
  readonly threeDSecure: ThreeDSOutcome | undefined;
  readonly approvalUrl: string | undefined;
  readonly approvalExpiresAt: number | undefined;
  readonly authorizedAt: number | undefined;
  readonly capturedAt: number | undefined;
  readonly voidedAt: number | undefined;
  readonly updatedAt: number;
  readonly attempt: Attempt | undefined;
  /** The payment service's ids of ended captures and voids, and of requests to cancel the payment. */
  readonly endedIds?: readonly string[];
  /** Number of captures and voids begun: each has its own key. */
  readonly captures: number;
  readonly voids: number;
}

/** A transaction in the API. Here the database's transactions have that name. */
export interface Payment extends PaymentRecord {
  readonly id: Uuid;
  readonly connectionId: Uuid;
  readonly tokenId: string;
  /** The token's containers when it was charged: they decide who may void after the token is deleted. */
  readonly containers: readonly ContainerPath[];
  readonly status: Status;
  readonly providerId: string | undefined;
  readonly revision: number;
  readonly createdAt: Date;
  /** Time of the next look-up. */
  readonly dueAt: Date | undefined;
}

/** Our reference at the payment service. Some accept fewer than 36 characters. */
export function showReconciliationId({ id }: Pick<Payment, "id">): string {
  return compactUuid(id);
}

export function paymentReference(payment: Payment): PaymentReference {
  const { order, providerId, authorizedAmount } = payment;
  const amount = authorizedAmount > 0 ? authorizedAmount : order.amount;
  return {
    reconciliationId: showReconciliationId(payment),
    providerId,
    intent: order.intent,
    money: { amount, currency: order.currency },
  };
}

export function externalTerm(keys: TenantKeys, identifier: string): Buffer {
  return searchTerm(keys.search, "payment", "external_identifier", identifier);
}

export function openPayment(keys: TenantKeys, row: PaymentRow): Payment {
  return {
    ...paymentRecord.open(keys, row, row.record),
    id: row.id,
    connectionId: row.connection_id,
    tokenId: row.token_id,
    createdAt: row.created_at,
    containers: storedPaths(row.containers),
    status: storedStatus(row.status),
    providerId: row.provider_id ?? undefined,
    revision: row.revision,
    dueAt: row.due_at ?? undefined,
  };
}

export function writePaymentRow(keys: TenantKeys, payment: Payment): Omit<PaymentRow, "created_at"> {
  const { id, connectionId, tokenId, containers, status, providerId, revision, createdAt, dueAt, ...record } = payment;
  const { externalIdentifier } = record.order;
  const plain = {
    id,
    connection_id: connectionId,
    token_id: tokenId,
    containers: [...containers],
    status,
    provider_id: providerId ?? null,
  };
  return {
    ...plain,
    revision,
    external_term: externalIdentifier === undefined ? null : externalTerm(keys, externalIdentifier),
    record: paymentRecord.seal(keys, plain, record),
    due_at: dueAt ?? null,
  };
}

export const paymentRecord = sealedRecord({
  field: "payment",
  bound: AAD_COLUMNS.payments,
  write: (record: PaymentRecord) => record,
});

function storedStatus(text: string): Status {
  const status = STATUSES.find((known) => known === text);
  if (!status) throw new Error("a payment of unknown status is stored");
  return status;
}
