import { newUuid } from "../../src/base/ids.js";
import type { Intent } from "../../src/payments/contract/payment-request.js";
import type { Attempt, Payment } from "../../src/payments/lifecycle/payment.js";
import type { Refund } from "../../src/payments/lifecycle/refund.js";

/** A time that all of these tests share. */
export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

/** A new payment of 1000, with the given changes. */
export function aPayment(more: Partial<Payment> = {}, intent: Intent = "authorize"): Payment {
  return {
    ...{ id: newUuid(), connectionId: newUuid(), tokenId: "card-1", containers: [], status: "processing" },
    order: {
      ...{ amount: 1000, currency: "USD", country: undefined, intent, externalIdentifier: undefined },
      ...{ paymentSource: "ecommerce", isMerchantInitiated: false, isSubsequentPayment: false },
      ...{ previousSchemeTransactionId: undefined, metadata: undefined, threeDS: undefined },
    },
    card: { last4: "4242", bin: "42424242", scheme: "visa", expirationDate: "12/30", fingerprint: undefined },
    connection: { formulaId: "stripe-card", method: "card", displayName: "Shop" },
    ...{ intentOutcome: "pending", authorizedAmount: 0, capturedAmount: 0, refundedAmount: 0, codes: {} },
    ...{ providerId: "pi_1", schemeTransactionId: undefined, errorCode: undefined, threeDSecure: undefined },
    ...{ approvalUrl: undefined, approvalExpiresAt: undefined, authorizedAt: undefined, capturedAt: undefined },
    ...{ voidedAt: undefined, updatedAt: NOW, captures: 0, voids: 0, revision: 1, createdAt: new Date(NOW) },
    ...{ attempt: undefined, dueAt: undefined },
    ...more,
  };
}

export function anAttempt(operation: Attempt["operation"], more: Partial<Attempt> = {}): Attempt {
  return { operation, key: `${operation}-1`, amount: 500, state: "sent", tries: 0, since: NOW, ...more };
}

export function authorized(more: Partial<Payment> = {}, intent: Intent = "authorize"): Payment {
  const known = { status: "authorization_succeeded", intentOutcome: "succeeded", authorizedAmount: 1000 } as const;
  return aPayment({ ...known, authorizedAt: NOW, ...more }, intent);
}

/** 800 of 1000 were captured. */
export function captured(more: Partial<Payment> = {}): Payment {
  return authorized({ status: "capture_succeeded", capturedAmount: 800, capturedAt: NOW, ...more });
}

export function aRefund(more: Partial<Refund> = {}): Refund {
  return {
    ...{ id: newUuid(), paymentId: newUuid(), status: "processing", amount: 300, currency: "USD", reason: undefined },
    ...{ errorCode: undefined, providerId: undefined, updatedAt: NOW, createdAt: new Date(NOW) },
    ...more,
  };
}
