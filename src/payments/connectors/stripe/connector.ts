import { toProviderAmount } from "../../amount.js";
import type { Connector, ConnectorContext } from "../../connector.js";
import type { AuthorizationOutcome, CredentialsOutcome, FollowUpOutcome } from "../../outcome.js";
import type {
  AuthorizationRequest,
  CaptureRequest,
  PaymentReference,
  RefundRequest,
  VoidRequest,
} from "../../payment-request.js";
import { ended, INEXPRESSIBLE, refused } from "../ending.js";
import { hostIn } from "../fields.js";
import { callJson, type JsonCallResult } from "../provider-json.js";
import { objectAt, textAt } from "../read-json.js";
import { redacting } from "../redacting.js";
import { sendsCvc } from "../sends-cvc.js";
import { moneyAt, STRIPE_AMOUNTS } from "./amounts.js";
import { codesOf, errorOf } from "./error.js";
import { findIntent, lookUpIntent } from "./look-up.js";
import { paymentStateOf } from "./payment-state.js";
import { refundOutcome } from "./refund.js";
import { StripeRequests } from "./requests.js";
import { readStripeWebhook } from "./webhook.js";

const ADDRESS = "https://api.stripe.com";

/** Stripe's payment intents. `address` is the API's base address, without a slash at the end. */
export function stripeConnector(address: string = ADDRESS): Connector {
  const requestsFor = (context: ConnectorContext) => new StripeRequests(address, context);
  const lookUp = (context: ConnectorContext, payment: PaymentReference) =>
    lookUpIntent(requestsFor(context), context, payment);
  return redacting({
    formulaId: "stripe-card",
    hostOf: () => hostIn(address),
    authorize: (context, request) => authorize(requestsFor(context), context, request),
    capture: (context, request) => capture(requestsFor(context), context, request),
    void: (context, request) => release(requestsFor(context), context, request),
    refund: (context, request) => refund(requestsFor(context), context, request),
    lookUp,
    finishApproval: (context, { payment }) => lookUp(context, payment),
    checkCredentials: (context) => checkCredentials(requestsFor(context), context),
    readWebhook: readStripeWebhook,
  });
}

async function authorize(
  requests: StripeRequests,
  context: ConnectorContext,
  request: AuthorizationRequest,
): Promise<AuthorizationOutcome> {
  const amount = toProviderAmount(STRIPE_AMOUNTS, request.money);
  // Stripe checks a card without an amount by another call, not by a charge.
  if (amount === undefined || amount === 0) return ended("invalid_amount", { codes: INEXPRESSIBLE });
  const result = await callJson(context, requests.create(request, amount));
  if (result.kind === "never_sent") return ended("service_network_error", { codes: result.codes });
  if (result.kind === "unknown") return result;
  if (isStillRunning(result)) return { kind: "unknown", codes: codesOf(objectAt(result.body, "error")) };
  if (result.status >= 400) return refusal(result, request);
  const state = paymentStateOf(result.body, request.intent);
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
  const state = intent && paymentStateOf({ ...intent, last_payment_error: error ?? null }, request.intent);
  if (state?.kind === "declined" || state?.kind === "failed") return state;
  return ended(errorOf(error, status), { codes: codesOf(error), providerId: textAt(intent, "id") });
}

async function capture(
  requests: StripeRequests,
  context: ConnectorContext,
  { payment, money, idempotencyKey }: CaptureRequest,
): Promise<FollowUpOutcome> {
  const amount = toProviderAmount(STRIPE_AMOUNTS, money);
  if (amount === undefined) return refused("invalid_amount", INEXPRESSIBLE);
  const result = await callJson(context, requests.capture(payment.providerId, idempotencyKey, amount));
  return followUp(result, "succeeded");
}

async function release(
  requests: StripeRequests,
  context: ConnectorContext,
  { payment, idempotencyKey }: VoidRequest,
): Promise<FollowUpOutcome> {
  const found = payment.providerId ?? (await findIntent(requests, context, payment.reconciliationId));
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
  if (result.kind === "never_sent") return refused("service_network_error", result.codes);
  if (result.kind === "unknown") return result;
  const error = objectAt(result.body, "error");
  if (isStillRunning(result)) return { kind: "unknown", codes: codesOf(error) };
  const intent = result.status < 400 ? result.body : objectAt(error, "payment_intent");
  const status = textAt(intent, "status");
  const codes = result.status < 400 ? {} : codesOf(error);
  if (status === wanted) {
    const amount = wanted === "succeeded" ? moneyAt(intent, "amount_received") : undefined;
    return { kind: "done", codes, ...(amount === undefined ? {} : { amount }) };
  }
  if (result.status < 400) return status === "processing" ? { kind: "accepted", codes } : { kind: "unknown", codes };
  const expired = status === "canceled" && wanted === "succeeded";
  return refused(expired ? "expired_authorization" : errorOf(error, result.status), codes);
}

async function refund(
  requests: StripeRequests,
  context: ConnectorContext,
  request: RefundRequest,
): Promise<FollowUpOutcome> {
  const amount = toProviderAmount(STRIPE_AMOUNTS, request.money);
  if (amount === undefined) return refused("invalid_amount", INEXPRESSIBLE);
  const result = await callJson(context, requests.refund(request, amount));
  if (result.kind === "never_sent") return refused("service_network_error", result.codes);
  if (result.kind === "unknown") return result;
  const error = objectAt(result.body, "error");
  if (isStillRunning(result)) return { kind: "unknown", codes: codesOf(error) };
  if (result.status < 400) return refundOutcome(result.body);
  return refused(errorOf(error, result.status), codesOf(error));
}

async function checkCredentials(requests: StripeRequests, context: ConnectorContext): Promise<CredentialsOutcome> {
  const result = await callJson(context, requests.list({ limit: 1 }));
  if (result.kind !== "json") return { kind: "unclear" };
  if (result.status === 200) return { kind: "accepted" };
  return result.status === 401 || result.status === 403 ? { kind: "refused" } : { kind: "unclear" };
}
