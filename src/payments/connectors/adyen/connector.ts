import { createHash } from "node:crypto";
import { toProviderAmount } from "../../contract/amount.js";
import type { Connector } from "../../contract/connector.js";
import type {
  AuthorizationOutcome,
  CredentialsOutcome,
  FollowUpOutcome,
  LookUpOutcome,
} from "../../contract/outcome.js";
import type { ApprovalReturn, AuthorizationRequest } from "../../contract/payment-request.js";
import type { ProviderCall } from "../../contract/provider-http.js";
import { endedAuthorization, refusedOperation, unansweredAuthorization, unansweredOperation } from "../ending.js";
import { callJson } from "../provider-json.js";
import { textAt } from "../read-json.js";
import { type ServiceCall, serviceConnector } from "../service-connector.js";
import { adyenAddress } from "./address.js";
import { ADYEN_AMOUNTS } from "./amounts.js";
import { codesOfError, isOpenError, refusalError } from "./error.js";
import { readPaymentState } from "./payment-state.js";
import { type AdyenAmount, AdyenRequests } from "./requests.js";
import { readAdyenWebhook } from "./webhook.js";

type AdyenCall = ServiceCall<AdyenRequests>;

/** Adyen's Checkout API. It has no call to get a payment's state: webhooks report it, or a repeated request does. */
export function adyenConnector(address?: string): Connector {
  return serviceConnector<AdyenRequests, AdyenAmount>({
    formulaId: "adyen-card",
    addressOf: (context) => adyenAddress(context, address),
    noAddress: "The connection has no usable live_endpoint_prefix.",
    requestsFor: (base, context) => new AdyenRequests(base, context),
    amountOf({ amount, currency }) {
      const value = toProviderAmount(ADYEN_AMOUNTS, { amount, currency });
      return value === undefined ? undefined : { value, currency };
    },
    authorize,
    capture(call, { payment, idempotencyKey }, amount) {
      const { providerId, reconciliationId } = payment;
      return modify(call, call.requests.capture(providerId, reconciliationId, idempotencyKey, amount));
    },
    void(call, { payment, idempotencyKey }) {
      const { providerId, reconciliationId } = payment;
      const request =
        providerId === undefined
          ? call.requests.cancelByReference(reconciliationId, idempotencyKey)
          : call.requests.cancel(providerId, reconciliationId, idempotencyKey);
      return modify(call, request);
    },
    refund: (call, { payment, reference, idempotencyKey }, amount) =>
      modify(call, call.requests.refund(payment.providerId, reference, idempotencyKey, amount)),
    lookUp: async () => ({ kind: "unsupported" }),
    finishApproval,
    checkCredentials,
    readWebhook: readAdyenWebhook,
  });
}

async function authorize(
  { requests, context }: AdyenCall,
  request: AuthorizationRequest,
  amount: AdyenAmount,
): Promise<AuthorizationOutcome> {
  const result = await callJson(context, requests.pay(request, amount));
  if (result.kind !== "json") return unansweredAuthorization(result);
  const { status, body } = result;
  if (status >= 400) {
    const codes = codesOfError(body);
    return isOpenError(body, result.transientError)
      ? { kind: "unknown", codes }
      : endedAuthorization(refusalError(body, status), { codes });
  }
  const state = readPaymentState(body, { intent: request.intent, money: request.money, isAfterApproval: false });
  if (state.kind === "failed" && state.errorCode === "invalid_operation") {
    // The buyer would need something other than a page, so this payment can never be approved.
    await callJson(context, requests.cancelByReference(request.reconciliationId, `${request.idempotencyKey}-x`));
  }
  return state;
}

/** Adyen accepts captures, cancellations and refunds, and reports their end by webhook. */
async function modify({ context }: AdyenCall, request: ProviderCall): Promise<FollowUpOutcome> {
  const result = await callJson(context, request);
  if (result.kind !== "json") return unansweredOperation(result);
  const { status, body } = result;
  if (status < 400) {
    const rawCode = textAt(body, "status");
    return { kind: "accepted", providerId: textAt(body, "pspReference"), codes: { rawCode } };
  }
  const codes = codesOfError(body);
  return isOpenError(body, result.transientError)
    ? { kind: "unknown", codes }
    : refusedOperation(refusalError(body, status), codes);
}

/**
 * Submits the buyer's return data. The buyer may have forged it, or send the result of another payment: only a response
 * that names this payment counts.
 */
async function finishApproval(
  { requests, context }: AdyenCall,
  { payment, query }: ApprovalReturn,
): Promise<LookUpOutcome> {
  const redirectResult = query.get("redirectResult");
  if (redirectResult === null || redirectResult.length > 20_000) return { kind: "unsupported" };
  const digest = createHash("sha256").update(redirectResult).digest("hex").slice(0, 16);
  const result = await callJson(context, requests.details(redirectResult, `${payment.reconciliationId}-${digest}`));
  if (result.kind !== "json") return { kind: "unknown", codes: result.codes };
  const { status, body } = result;
  if (status >= 400) return { kind: "unknown", codes: codesOfError(body) };
  const reference = textAt(body, "merchantReference");
  const isThis =
    reference === undefined
      ? payment.providerId !== undefined && textAt(body, "pspReference") === payment.providerId
      : reference === payment.reconciliationId;
  if (!isThis) return { kind: "unknown", codes: { rawCode: "another_payment" } };
  return { kind: "found", state: readPaymentState(body, { ...payment, isAfterApproval: true }) };
}

async function checkCredentials({ requests, context }: AdyenCall): Promise<CredentialsOutcome> {
  const result = await callJson(context, requests.paymentMethods());
  if (result.kind !== "json") return { kind: "unclear" };
  if (result.status === 200) return { kind: "accepted" };
  // 901: the merchant account does not exist, or the key belongs to another one.
  const isRefused = [401, 403].includes(result.status) || textAt(result.body, "errorCode") === "901";
  return { kind: isRefused ? "refused" : "unclear" };
}
