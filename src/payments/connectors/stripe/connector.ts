import { toProviderAmount } from "../../contract/amount.js";
import type { Connector } from "../../contract/connector.js";
import type { AuthorizationOutcome, CredentialsOutcome, FollowUpOutcome } from "../../contract/outcome.js";
import type {
  AuthorizationRequest,
  CaptureRequest,
  RefundRequest,
  VoidRequest,
} from "../../contract/payment-request.js";
import { endedAuthorization, refusedOperation, unansweredAuthorization, unansweredOperation } from "../ending.js";
import { callJson, type JsonCallResult } from "../provider-json.js";
import { objectAt, textAt } from "../read-json.js";
import { sendsCvc } from "../sends-cvc.js";
import { INEXPRESSIBLE, serviceConnector } from "../service-connector.js";
import { moneyAt, STRIPE_AMOUNTS } from "./amounts.js";
import { providerCodes, refusalError } from "./error.js";
import { findIntent, lookUpIntent } from "./look-up.js";
import { readPaymentState } from "./payment-state.js";
import { refundOutcome } from "./refund.js";
import { type StripeCall, StripeRequests } from "./requests.js";
import { readStripeWebhook } from "./webhook.js";

const ADDRESS = "https://api.stripe.com";

/** Stripe's payment intents. `address` is the API's base address, without a slash at the end. */
export function stripeConnector(address: string = ADDRESS): Connector {
  return serviceConnector({
    formulaId: "stripe-card",
    addressOf: () => address,
    requestsFor: (base, context) => new StripeRequests(base, context),
    amountOf: (money) => toProviderAmount(STRIPE_AMOUNTS, money),
    authorize,
    capture,
    void: release,
    refund,
    lookUp: lookUpIntent,
    checkCredentials,
    readWebhook: readStripeWebhook,
  });
}

async function authorize(
  { requests, context }: StripeCall,
  request: AuthorizationRequest,
  amount: number,
): Promise<AuthorizationOutcome> {
  // Stripe checks a card without an amount by another call, not by a charge.
  if (amount === 0) return endedAuthorization("invalid_amount", { codes: INEXPRESSIBLE });
  const result = await callJson(context, requests.create(request, amount));
  if (result.kind !== "json") return unansweredAuthorization(result);
  if (isStillRunning(result)) return { kind: "unknown", codes: providerCodes(objectAt(result.body, "error")) };
  if (result.status >= 400) return refusal(result, request);
  const state = readPaymentState(result.body, request.intent);
  if (state.kind === "failed" && state.errorCode === "invalid_operation" && state.providerId !== undefined) {
    // The buyer would need something other than a page, so this payment can never be approved.
    await callJson(context, requests.cancel(state.providerId, `${request.idempotencyKey}-x`));
  }
  const isAsked = sendsCvc(request);
  const isApproved = state.kind === "authorized" || state.kind === "captured";
  if (isAsked || !isApproved || state.codes.cvv !== undefined) return state;
  return { ...state, codes: { ...state.codes, cvv: "not_provided" } };
}

/** The first request with this key is still running, or was a different one: only a look-up shows its end. */
function isStillRunning({ status, body }: JsonCallResult & { kind: "json" }): boolean {
  const type = textAt(body, "error", "type");
  return status === 409 || type === "idempotency_error";
}

function refusal(
  { status, body }: JsonCallResult & { kind: "json" },
  request: AuthorizationRequest,
): AuthorizationOutcome {
  const error = objectAt(body, "error");
  const intent = objectAt(error, "payment_intent");
  const state = intent && readPaymentState({ ...intent, last_payment_error: error ?? null }, request.intent);
  if (state?.kind === "declined" || state?.kind === "failed") return state;
  return endedAuthorization(refusalError(error, status), {
    codes: providerCodes(error),
    providerId: textAt(intent, "id"),
  });
}

async function capture(
  { requests, context }: StripeCall,
  { payment, idempotencyKey }: CaptureRequest,
  amount: number,
): Promise<FollowUpOutcome> {
  const result = await callJson(context, requests.capture(payment.providerId, idempotencyKey, amount));
  return followUp(result, "succeeded");
}

async function release(call: StripeCall, { payment, idempotencyKey }: VoidRequest): Promise<FollowUpOutcome> {
  const { requests, context } = call;
  const found = payment.providerId ?? (await findIntent(call, payment.reconciliationId));
  if (typeof found !== "string") {
    return found.kind === "unknown" ? found : { kind: "unknown", codes: { rawCode: "no_such_payment" } };
  }
  return followUp(await callJson(context, requests.cancel(found, idempotencyKey)), "canceled");
}

/**
 * The end of a capture or a cancellation. If Stripe refuses because the payment is already in the requested state, an
 * earlier request of ours succeeded and its response was lost.
 */
function followUp(result: JsonCallResult, wanted: "succeeded" | "canceled"): FollowUpOutcome {
  if (result.kind !== "json") return unansweredOperation(result);
  const error = objectAt(result.body, "error");
  if (isStillRunning(result)) return { kind: "unknown", codes: providerCodes(error) };
  const intent = result.status < 400 ? result.body : objectAt(error, "payment_intent");
  const status = textAt(intent, "status");
  const codes = result.status < 400 ? {} : providerCodes(error);
  if (status === wanted) {
    const amount = wanted === "succeeded" ? moneyAt(intent, "amount_received") : undefined;
    return { kind: "done", codes, ...(amount === undefined ? {} : { amount }) };
  }
  if (result.status < 400) return status === "processing" ? { kind: "accepted", codes } : { kind: "unknown", codes };
  const expired = status === "canceled" && wanted === "succeeded";
  return refusedOperation(expired ? "expired_authorization" : refusalError(error, result.status), codes);
}

async function refund(
  { requests, context }: StripeCall,
  request: RefundRequest,
  amount: number,
): Promise<FollowUpOutcome> {
  const result = await callJson(context, requests.refund(request, amount));
  if (result.kind !== "json") return unansweredOperation(result);
  const error = objectAt(result.body, "error");
  if (isStillRunning(result)) return { kind: "unknown", codes: providerCodes(error) };
  if (result.status < 400) return refundOutcome(result.body);
  return refusedOperation(refusalError(error, result.status), providerCodes(error));
}

async function checkCredentials({ requests, context }: StripeCall): Promise<CredentialsOutcome> {
  const result = await callJson(context, requests.list({ limit: 1 }));
  if (result.kind !== "json") return { kind: "unclear" };
  if (result.status === 200) return { kind: "accepted" };
  return result.status === 401 || result.status === 403 ? { kind: "refused" } : { kind: "unclear" };
}
