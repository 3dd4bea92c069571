import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Caller } from "../access/caller.js";
import { type Payment, showReconciliationId } from "../payments/lifecycle/payment.js";
import type { Refund } from "../payments/lifecycle/refund.js";

/** A payment as the API's transaction. Omits unknown values. */
export function showPayment(payment: Payment, caller: Pick<Caller, "grant">) {
  const { id, order, connection, connectionId, codes, status, threeDSecure } = payment;
  const time = (at: number | undefined) => (at === undefined ? undefined : timestampFromMs(at));
  return {
    type: "transaction",
    id,
    reconciliationId: showReconciliationId(payment),
    status,
    schemeTransactionId: payment.schemeTransactionId,
    connectionTransactionId: payment.providerId,
    paymentMethod: showPaymentMethod(payment, caller),
    connection: {
      type: "connection",
      id: connectionId,
      connectionFormulaId: connection.formulaId,
      method: connection.method,
      displayName: connection.displayName,
    },
    amount: BigInt(order.amount),
    currency: order.currency,
    intent: order.intent,
    authorizedAmount: BigInt(payment.authorizedAmount),
    capturedAmount: BigInt(payment.capturedAmount),
    refundedAmount: BigInt(payment.refundedAmount),
    country: order.country,
    externalIdentifier: order.externalIdentifier,
    metadata: order.metadata,
    authorizedAt: time(payment.authorizedAt),
    capturedAt: time(payment.capturedAt),
    voidedAt: time(payment.voidedAt),
    approvalExpiresAt: time(payment.approvalExpiresAt),
    createdAt: timestampFromDate(payment.createdAt),
    updatedAt: timestampFromMs(payment.updatedAt),
    errorCode: payment.errorCode,
    intentOutcome: payment.intentOutcome,
    ...(threeDSecure ? { threeDSecure: showThreeDSecure(threeDSecure) } : {}),
    authResponseCode: codes.authResponseCode,
    cvvResponseCode: codes.cvv,
    avsResponseCode: codes.avs,
    rawResponseCode: codes.rawCode,
    rawResponseDescription: codes.rawDescription,
    paymentSource: order.paymentSource,
    merchantInitiated: order.isMerchantInitiated,
    isSubsequentPayment: order.isSubsequentPayment,
  };
}

/**
 * Whether a caller sees nothing of the card: its rule redacts, as an AUDITOR's does, or it may not use the token, as a key
 * that only captures.
 */
export function isCardRedacted(
  { tokenId, containers }: Pick<Payment, "tokenId" | "containers">,
  { grant }: Pick<Caller, "grant">,
): boolean {
  const transform = grant.transformFor("token:use", { id: tokenId, containers });
  return transform === undefined || transform === "redact";
}

function showPaymentMethod(payment: Payment, caller: Pick<Caller, "grant">) {
  const { status, tokenId, card, approvalUrl } = payment;
  const isRedirect = status === "buyer_approval_pending";
  const isRedacted = isCardRedacted(payment, caller);
  const { last4, bin, expirationDate, scheme, fingerprint } = card;
  return {
    type: "payment-method",
    method: "card",
    mode: isRedirect ? "redirect" : "card",
    token: tokenId,
    scheme,
    fingerprint,
    ...(isRedacted ? {} : { label: last4, expirationDate }),
    ...(isRedirect ? { approvalUrl, approvalTarget: "any" } : {}),
    details: isRedacted ? {} : { bin },
  };
}

export function showRefund({
  id,
  paymentId,
  providerId,
  status,
  currency,
  amount,
  reason,
  errorCode,
  createdAt,
  updatedAt,
}: Refund) {
  return {
    type: "refund",
    id,
    transactionId: paymentId,
    status,
    currency,
    amount: BigInt(amount),
    connectionRefundId: providerId,
    reason,
    errorCode,
    createdAt: timestampFromDate(createdAt),
    updatedAt: timestampFromMs(updatedAt),
  };
}

function showThreeDSecure({ version, status, method, error }: NonNullable<Payment["threeDSecure"]>) {
  return { version, status, method, ...(error ? { errorData: { ...error } } : {}) };
}
