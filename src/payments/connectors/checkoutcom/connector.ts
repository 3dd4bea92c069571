import { toProviderAmount } from "../../contract/amount.js";
import type { Connector } from "../../contract/connector.js";
import type { AuthorizationOutcome, CredentialsOutcome, FollowUpOutcome } from "../../contract/outcome.js";
import type { AuthorizationRequest, PaymentReference, VoidRequest } from "../../contract/payment-request.js";
import type { ProviderCall } from "../../contract/provider-http.js";
import { endedAuthorization, refusedOperation, unansweredAuthorization, unansweredOperation } from "../ending.js";
import { callJson } from "../provider-json.js";
import { textAt } from "../read-json.js";
import { sendsCvc } from "../sends-cvc.js";
import { serviceConnector } from "../service-connector.js";
import { checkoutcomAddress } from "./address.js";
import { CHECKOUTCOM_AMOUNTS } from "./amounts.js";
import { codesOfError, refusalError } from "./error.js";
import { findPaymentId, lookUpPayment } from "./look-up.js";
import { readPaymentState } from "./payment-state.js";
import { type CheckoutcomCall, CheckoutcomRequests } from "./requests.js";
import { readCheckoutcomWebhook } from "./webhook.js";

/** A well-formed id of no payment. */
const NO_PAYMENT = "pay_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/**
 * Checkout.com's payments. An idempotency key protects successes only: after any other end, look up before resending.
 */
export function checkoutcomConnector(address?: string): Connector {
  return serviceConnector({
    formulaId: "checkoutcom-card",
    addressOf: (context) => checkoutcomAddress(context, address),
    noAddress: "The connection's api_prefix is no part of a host name.",
    requestsFor: (base, context) => new CheckoutcomRequests(base, context),
    amountOf: (money) => toProviderAmount(CHECKOUTCOM_AMOUNTS, money),
    authorize,
    async capture(call, { payment, idempotencyKey }, amount) {
      const { providerId, reconciliationId } = payment;
      const request = call.requests.capture(providerId, reconciliationId, idempotencyKey, amount);
      return ifDoneBefore(call, payment, "captured", await modify(call, request));
    },
    void: release,
    refund: (call, { payment, reference, idempotencyKey }, amount) =>
      modify(call, call.requests.refund(payment.providerId, reference, idempotencyKey, amount)),
    lookUp: lookUpPayment,
    checkCredentials,
    readWebhook: readCheckoutcomWebhook,
  });
}

async function authorize(
  { requests, context }: CheckoutcomCall,
  request: AuthorizationRequest,
  amount: number,
): Promise<AuthorizationOutcome> {
  const result = await callJson(context, requests.pay(request, amount));
  if (result.kind !== "json") return unansweredAuthorization(result);
  const { status, body } = result;
  // The first request with this key is still running.
  if (status === 409) return { kind: "unknown", codes: codesOfError(body, status) };
  if (status >= 400) return endedAuthorization(refusalError(body, status), { codes: codesOfError(body, status) });
  const sentCvc = sendsCvc(request);
  return readPaymentState(body, request.intent, sentCvc);
}

/** Checkout.com accepts captures, voids and refunds; a look-up or a webhook reports their end. */
async function modify({ context }: CheckoutcomCall, request: ProviderCall): Promise<FollowUpOutcome> {
  const result = await callJson(context, request);
  if (result.kind !== "json") return unansweredOperation(result);
  const { status, body } = result;
  if (status < 400) return { kind: "accepted", providerId: textAt(body, "action_id"), codes: {} };
  const codes = codesOfError(body, status);
  if (status === 409) return { kind: "unknown", codes };
  // 403 on a payment means that its state does not allow the operation.
  return refusedOperation(status === 403 ? "unexpected_state" : refusalError(body, status), codes);
}

async function release(call: CheckoutcomCall, { payment, idempotencyKey }: VoidRequest): Promise<FollowUpOutcome> {
  const { requests } = call;
  const found = payment.providerId ?? (await findPaymentId(call, payment.reconciliationId));
  if (typeof found !== "string") {
    return found.kind === "unknown" ? found : { kind: "unknown", codes: { rawCode: "no_such_payment" } };
  }
  const outcome = await modify(call, requests.void(found, payment.reconciliationId, idempotencyKey));
  return ifDoneBefore(call, { ...payment, providerId: found }, "voided", outcome);
}

/**
 * If the payment's state does not allow the operation, an earlier request of ours may already have done it: its response
 * was lost, and its key has expired.
 */
async function ifDoneBefore(
  call: CheckoutcomCall,
  payment: PaymentReference,
  wanted: "captured" | "voided",
  outcome: FollowUpOutcome,
): Promise<FollowUpOutcome> {
  if (outcome.kind !== "refused" || outcome.errorCode !== "unexpected_state") return outcome;
  const found = await lookUpPayment(call, payment);
  if (found.kind !== "found") return { kind: "unknown", codes: outcome.codes };
  const { state } = found;
  if (state.kind !== wanted) return outcome;
  return { kind: "done", codes: outcome.codes, ...(state.kind === "captured" ? { amount: state.amount } : {}) };
}

async function checkCredentials({ requests, context }: CheckoutcomCall): Promise<CredentialsOutcome> {
  const result = await callJson(context, requests.read(NO_PAYMENT));
  if (result.kind !== "json") return { kind: "unclear" };
  if (result.status === 404) return { kind: "accepted" };
  return { kind: result.status === 401 || result.status === 403 ? "refused" : "unclear" };
}
