import type { PaymentState, ProviderCodes, ThreeDSOutcome } from "../outcome.js";
import { entryOf, type SimulatedPayment, totalOf } from "./ledger.js";

export function simulatorId(reference: string): string {
  return `sim_${reference}`;
}

/** The state of a payment, from the simulator's books. */
export function paymentStateOf(
  reference: string,
  page: SimulatedPayment,
  now: number,
  approvalUrl: string,
): PaymentState {
  const providerId = simulatorId(reference);
  const codes = codesOf(page);
  const stated = { providerId, codes, ...threeDSOf(page) };
  switch (page.stand) {
    case "lost":
      return { kind: "processing", codes };
    case "declined":
      return { ...stated, kind: "declined", errorCode: page.errorCode ?? "other_decline" };
    case "failed":
      return { ...stated, kind: "failed", errorCode: page.errorCode ?? "service_error" };
    case "awaiting_buyer":
      return { ...stated, kind: "redirect", approvalUrl, expiresAt: new Date(page.approval?.expiresAt ?? now) };
    case "approved":
      return approvedStanding(page, now, { ...stated, schemeTransactionId: page.schemeTransactionId });
  }
}

function approvedStanding(
  page: SimulatedPayment,
  now: number,
  known: { readonly providerId: string; readonly codes: ProviderCodes; readonly schemeTransactionId: string },
): PaymentState {
  const authorization = entryOf(page, "authorization");
  const authorizedAmount = authorization?.amount ?? 0;
  const capture = entryOf(page, "capture");
  const letGo = entryOf(page, "void");
  if (letGo) {
    const at = letGo.at + page.voidMs;
    return at > now ? { ...known, kind: "voiding" } : { ...known, kind: "voided", expired: false, at: new Date(at) };
  }
  if (!capture) {
    return { ...known, kind: "authorized", amount: authorizedAmount, at: new Date(authorization?.at ?? now) };
  }
  const at = capture.at + page.captureMs;
  if (at > now) return { ...known, kind: "capturing", authorizedAmount };
  const refundedAmount = totalOf(page, "refund");
  return { ...known, kind: "captured", authorizedAmount, amount: capture.amount, refundedAmount, at: new Date(at) };
}

export function codesOf({ cvv, responseCode, stand, errorCode }: SimulatedPayment): ProviderCodes {
  const said = stand === "awaiting_buyer" || stand === "lost";
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
