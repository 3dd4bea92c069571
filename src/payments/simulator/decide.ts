import { createHash } from "node:crypto";
import { cardBrand } from "../../tokens/types/card-brand.js";
import { connectionField } from "../connectors/fields.js";
import type { ConnectorContext } from "../contract/connector.js";
import type { AuthorizationRequest } from "../contract/payment-request.js";
import { approved, type SimulatedPayment } from "./ledger.js";
import type { Behaviour } from "./rules.js";

const ASYNC_MS = 2_000;
const HOUR_S = 3_600;

export function decide(
  context: ConnectorContext,
  request: AuthorizationRequest,
  { verdict, cvv, later, approvesHalf, asyncCapture, asyncVoid, approvesLate }: Behaviour,
  now: number,
): SimulatedPayment {
  const isSlow = asyncCapture || connectionField(context, "async_capture") === "true";
  const lifetime = Number(connectionField(context, "approval_ttl_s") ?? HOUR_S) * 1_000;
  const payment: SimulatedPayment = {
    bankState: "approved",
    ...request.money,
    intent: request.intent,
    errorCode: undefined,
    responseCode: "00",
    cvv,
    later,
    schemeTransactionId: schemeTransactionId(request, now),
    threeDS: "none",
    approvesHalf,
    captureMs: isSlow ? ASYNC_MS : 0,
    voidMs: asyncVoid ? ASYNC_MS : 0,
    approval: undefined,
    entries: [],
  };
  switch (verdict.kind) {
    case "approve":
      return approved(payment, request.idempotencyKey, now);
    case "frictionless":
      return approved({ ...payment, threeDS: "frictionless" }, request.idempotencyKey, now);
    case "setup_error":
      return {
        ...payment,
        bankState: "failed",
        errorCode: "service_error",
        responseCode: "96",
        threeDS: "setup_error",
      };
    case "challenge": {
      const { returnUrl } = request;
      const declinesAnyway = verdict.afterwards === "declined";
      return {
        ...payment,
        bankState: "awaiting_buyer",
        approval: { returnUrl, key: request.idempotencyKey, expiresAt: now + lifetime, declinesAnyway, approvesLate },
      };
    }
    case "decline":
    case "fail": {
      const { errorCode, responseCode } = verdict;
      return { ...payment, bankState: verdict.kind === "decline" ? "declined" : "failed", errorCode, responseCode };
    }
  }
}

/** Derived from our reference alone: 15 digits at Visa and most others, 9 characters and the day at Mastercard. */
function schemeTransactionId({ reconciliationId, card }: AuthorizationRequest, now: number): string {
  const hash = createHash("sha256").update(reconciliationId).digest();
  const digits = (hash.readBigUInt64BE() % 10n ** 15n).toString().padStart(15, "0");
  if (cardBrand(card.reveal().number) !== "mastercard") return digits;
  return `MCC${digits.slice(0, 6)}${new Date(now).toISOString().slice(5, 10).replace("-", "")}`;
}
