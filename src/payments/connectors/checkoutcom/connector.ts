import { toProviderAmount } from "../../amount.js";
import type { Connector, ConnectorContext } from "../../connector.js";
import type {
  AuthorizationOutcome,
  CredentialsOutcome,
  FollowUpOutcome,
  LookUpOutcome,
  ProviderCodes,
} from "../../outcome.js";
import type { AuthorizationRequest, PaymentReference, VoidRequest } from "../../payment-request.js";
import type { ProviderCall } from "../../provider-http.js";
import { ended, INEXPRESSIBLE, refused } from "../ending.js";
import { hostIn } from "../fields.js";
import { callJson } from "../provider-json.js";
import { textAt } from "../read-json.js";
import { redacting } from "../redacting.js";
import { sendsCvc } from "../sends-cvc.js";
import { checkoutcomAddress } from "./address.js";
import { CHECKOUTCOM_AMOUNTS } from "./amounts.js";
import { codesOfError, errorOf } from "./error.js";
import { findPayment, lookUpPayment } from "./look-up.js";
import { paymentStateOf } from "./payment-state.js";
import { CheckoutcomRequests } from "./requests.js";
import { readCheckoutcomWebhook } from "./webhook.js";

const NO_ADDRESS: ProviderCodes = { rawDescription: "The connection's api_prefix is no part of a host name." };
/** A well-formed id of no payment. */
const NO_PAYMENT = "pay_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/**
 * Checkout.com's payments. An idempotency key protects successes only: after any other end, look up before resending.
 */
export function checkoutcomConnector(address?: string): Connector {
  const requestsFor = (context: ConnectorContext) => {
    const base = checkoutcomAddress(context, address);
    return base === undefined ? undefined : new CheckoutcomRequests(base, context);
  };
  const lookUp = async (context: ConnectorContext, payment: PaymentReference): Promise<LookUpOutcome> => {
    const requests = requestsFor(context);
    return requests ? lookUpPayment(requests, context, payment) : { kind: "unknown", codes: NO_ADDRESS };
  };
  return redacting({
    formulaId: "checkoutcom-card",
    hostOf: (context) => hostIn(checkoutcomAddress(context, address)),
    authorize: (context, request) => authorize(requestsFor(context), context, request),
    async capture(context, { payment, money, idempotencyKey }) {
      const amount = toProviderAmount(CHECKOUTCOM_AMOUNTS, money);
      if (amount === undefined) return refused("invalid_amount", INEXPRESSIBLE);
      const { providerId, reconciliationId } = payment;
      const requests = requestsFor(context);
      const outcome = await modify(requests, context, (calls) =>
        calls.capture(providerId, reconciliationId, idempotencyKey, amount),
      );
      return settled(requests, context, payment, outcome, "captured");
    },
    void: (context, request) => release(requestsFor(context), context, request),
    async refund(context, { payment, reference, money, idempotencyKey }) {
      const amount = toProviderAmount(CHECKOUTCOM_AMOUNTS, money);
      if (amount === undefined) return refused("invalid_amount", INEXPRESSIBLE);
      return modify(requestsFor(context), context, (requests) =>
        requests.refund(payment.providerId, reference, idempotencyKey, amount),
      );
    },
    lookUp,
    finishApproval: (context, { payment }) => lookUp(context, payment),
    checkCredentials: (context) => checkCredentials(requestsFor(context), context),
    readWebhook: readCheckoutcomWebhook,
  });
}

type Requests = CheckoutcomRequests | undefined;

async function authorize(
  requests: Requests,
  context: ConnectorContext,
  request: AuthorizationRequest,
): Promise<AuthorizationOutcome> {
  const amount = toProviderAmount(CHECKOUTCOM_AMOUNTS, request.money);
  if (amount === undefined) return ended("invalid_amount", { codes: INEXPRESSIBLE });
  if (requests === undefined) return ended("invalid_service_configuration", { codes: NO_ADDRESS });
  const result = await callJson(context, requests.pay(request, amount));
  if (result.kind === "never_sent") return ended("service_network_error", { codes: result.codes });
  if (result.kind === "unknown") return result;
  const { status, body } = result;
  // The first request with this key is still running.
  if (status === 409) return { kind: "unknown", codes: codesOfError(body, status) };
  if (status >= 400) return ended(errorOf(body, status), { codes: codesOfError(body, status) });
  const sentCvc = sendsCvc(request);
  return paymentStateOf(body, request.intent, sentCvc);
}

/** Checkout.com accepts captures, voids and refunds; a look-up or a webhook reports their end. */
async function modify(
  requests: Requests,
  context: ConnectorContext,
  callFor: (requests: CheckoutcomRequests) => ProviderCall,
): Promise<FollowUpOutcome> {
  if (requests === undefined) return refused("invalid_service_configuration", NO_ADDRESS);
  const result = await callJson(context, callFor(requests));
  if (result.kind === "never_sent") return refused("service_network_error", result.codes);
  if (result.kind === "unknown") return result;
  const { status, body } = result;
  if (status < 400) return { kind: "accepted", providerId: textAt(body, "action_id"), codes: {} };
  const codes = codesOfError(body, status);
  if (status === 409) return { kind: "unknown", codes };
  // 403 on a payment means that its state does not allow the operation.
  return refused(status === 403 ? "unexpected_state" : errorOf(body, status), codes);
}

async function release(
  requests: Requests,
  context: ConnectorContext,
  { payment, idempotencyKey }: VoidRequest,
): Promise<FollowUpOutcome> {
  if (requests === undefined) return refused("invalid_service_configuration", NO_ADDRESS);
  const found = payment.providerId ?? (await findPayment(requests, context, payment.reconciliationId));
  if (typeof found !== "string") {
    return found.kind === "unknown" ? found : { kind: "unknown", codes: { rawCode: "no_such_payment" } };
  }
  const outcome = await modify(requests, context, (calls) =>
    calls.void(found, payment.reconciliationId, idempotencyKey),
  );
  return settled(requests, context, { ...payment, providerId: found }, outcome, "voided");
}

/**
 * If the payment's state does not allow the operation, an earlier request of ours may already have done it: its response
 * was lost, and its key has expired.
 */
async function settled(
  requests: Requests,
  context: ConnectorContext,
  payment: PaymentReference,
  outcome: FollowUpOutcome,
  wanted: "captured" | "voided",
): Promise<FollowUpOutcome> {
  if (requests === undefined || outcome.kind !== "refused" || outcome.errorCode !== "unexpected_state") return outcome;
  const found = await lookUpPayment(requests, context, payment);
  if (found.kind !== "found") return { kind: "unknown", codes: outcome.codes };
  const { state } = found;
  if (state.kind !== wanted) return outcome;
  return { kind: "done", codes: outcome.codes, ...(state.kind === "captured" ? { amount: state.amount } : {}) };
}

async function checkCredentials(requests: Requests, context: ConnectorContext): Promise<CredentialsOutcome> {
  if (requests === undefined) return { kind: "refused" };
  const result = await callJson(context, requests.read(NO_PAYMENT));
  if (result.kind !== "json") return { kind: "unclear" };
  if (result.status === 404) return { kind: "accepted" };
  return { kind: result.status === 401 || result.status === 403 ? "refused" : "unclear" };
}
