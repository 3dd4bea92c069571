import type { PaymentState, ProviderCodes, ThreeDSOutcome } from "../contract/outcome.js";
import { findEntry, type SimulatedPayment, sumEntries } from "./ledger.js";

export function simulatorId(reference: string): string {
  return `sim_${reference}`;
}

export function readPaymentState(
  reference: string,
  payment: SimulatedPayment,
  now: number,
  approvalUrl: string,
): PaymentState {
  const providerId = simulatorId(reference);
  const codes = simulatedCodes(payment);
  const stated = { providerId, codes, ...threeDSOf(payment) };
  switch (payment.bankState) {
    case "lost":
      return { kind: "processing", codes };
    case "declined":
      return { ...stated, kind: "declined", errorCode: payment.errorCode ?? "other_decline" };
    case "failed":
      return { ...stated, kind: "failed", errorCode: payment.errorCode ?? "service_error" };
    case "awaiting_buyer":
      return { ...stated, kind: "redirect", approvalUrl, expiresAt: new Date(payment.approval?.expiresAt ?? now) };
    case "approved":
      return approvedState(payment, now, { ...stated, schemeTransactionId: payment.schemeTransactionId });
  }
}

function approvedState(
  payment: SimulatedPayment,
  now: number,
  known: { readonly providerId: string; readonly codes: ProviderCodes; readonly schemeTransactionId: string },
): PaymentState {
  const authorization = findEntry(payment, "authorization");
  const authorizedAmount = authorization?.amount ?? 0;
  const capture = findEntry(payment, "capture");
  const voided = findEntry(payment, "void");
  if (voided) {
    const at = voided.at + payment.voidMs;
    return at > now ? { ...known, kind: "voiding" } : { ...known, kind: "voided", expired: false, at: new Date(at) };
  }
  if (!capture) {
    return { ...known, kind: "authorized", amount: authorizedAmount, at: new Date(authorization?.at ?? now) };
  }
  const at = capture.at + payment.captureMs;
  if (at > now) return { ...known, kind: "capturing", authorizedAmount };
  const refundedAmount = sumEntries(payment, "refund");
  return { ...known, kind: "captured", authorizedAmount, amount: capture.amount, refundedAmount, at: new Date(at) };
}

export function simulatedCodes({ cvv, responseCode, bankState, errorCode }: SimulatedPayment): ProviderCodes {
  const said = bankState === "awaiting_buyer" || bankState === "lost";
  return {
    cvv,
    ...(said ? {} : { authResponseCode: responseCode, rawCode: responseCode }),
    ...(errorCode ? { rawDescription: errorCode } : {}),
  };
}

function threeDSOf({ threeDS }: SimulatedPayment): { readonly threeDS?: ThreeDSOutcome } {
  switch (threeDS) {
    case "none":
      return {};
    case "frictionless":
    case "challenge":
      return { threeDS: { version: "2.2.0", status: "complete", method: threeDS } };
    case "declined":
    case "cancelled":
      return { threeDS: { version: "2.2.0", status: threeDS, method: "challenge" } };
    case "setup_error": {
      const error = { code: "305", description: "The directory server could not be reached." };
      return { threeDS: { status: "setup_error", error } };
    }
  }
}
