import { createHash } from "node:crypto";
import { toProviderAmount } from "../../amount.js";
import type { Connector, ConnectorContext } from "../../connector.js";
import type {
  AuthorizationOutcome,
  CredentialsOutcome,
  FollowUpOutcome,
  LookUpOutcome,
  ProviderCodes,
} from "../../outcome.js";
import type { ApprovalReturn, AuthorizationRequest, Money } from "../../payment-request.js";
import type { ProviderCall } from "../../provider-http.js";
import { ended, INEXPRESSIBLE, refused } from "../ending.js";
import { hostIn } from "../fields.js";
import { callJson } from "../provider-json.js";
import { textAt } from "../read-json.js";
import { redacting } from "../redacting.js";
import { adyenAddress } from "./address.js";
import { ADYEN_AMOUNTS } from "./amounts.js";
import { codesOfError, errorOf, isOpenError } from "./error.js";
import { paymentStateOf } from "./payment-state.js";
import { type AdyenAmount, AdyenRequests } from "./requests.js";
import { readAdyenWebhook } from "./webhook.js";

const NO_ADDRESS: ProviderCodes = { rawDescription: "The connection has no usable live_endpoint_prefix." };

/** Adyen's Checkout API. It has no call to get a payment's state: webhooks report it, or a repeated request does. */
export function adyenConnector(address?: string): Connector {
  const requestsFor = (context: ConnectorContext) => {
    const base = adyenAddress(context, address);
    return base === undefined ? undefined : new AdyenRequests(base, context);
  };
  return redacting({
    formulaId: "adyen-card",
    hostOf: (context) => hostIn(adyenAddress(context, address)),
    authorize(context, request) {
      return authorize(requestsFor(context), context, request);
    },
    capture(context, { payment, money, idempotencyKey }) {
      const { providerId, reconciliationId } = payment;
      return modify(requestsFor(context), context, money, (requests, amount) =>
        requests.capture(providerId, reconciliationId, idempotencyKey, amount),
      );
    },
    void(context, { payment, idempotencyKey }) {
      const { providerId, reconciliationId, money } = payment;
      return modify(requestsFor(context), context, money, (requests) =>
        providerId === undefined
          ? requests.cancelByReference(reconciliationId, idempotencyKey)
          : requests.cancel(providerId, reconciliationId, idempotencyKey),
      );
    },
    refund(context, { payment, reference, money, idempotencyKey }) {
      return modify(requestsFor(context), context, money, (requests, amount) =>
        requests.refund(payment.providerId, reference, idempotencyKey, amount),
      );
    },
    lookUp: async () => ({ kind: "unsupported" }),
    finishApproval(context, approval) {
      return finishApproval(requestsFor(context), context, approval);
    },
    checkCredentials(context) {
      return checkCredentials(requestsFor(context), context);
    },
    readWebhook: readAdyenWebhook,
  });
}

type Requests = AdyenRequests | undefined;

async function authorize(
  requests: Requests,
  context: ConnectorContext,
  request: AuthorizationRequest,
): Promise<AuthorizationOutcome> {
  const amount = amountOf(request.money);
  if (amount === undefined) return ended("invalid_amount", { codes: INEXPRESSIBLE });
  if (requests === undefined) return ended("invalid_service_configuration", { codes: NO_ADDRESS });
  const result = await callJson(context, requests.pay(request, amount));
  if (result.kind === "never_sent") return ended("service_network_error", { codes: result.codes });
  if (result.kind === "unknown") return result;
  const { status, body } = result;
  if (status >= 400) {
    const codes = codesOfError(body);
    return isOpenError(body, result.transientError)
      ? { kind: "unknown", codes }
      : ended(errorOf(body, status), { codes });
  }
  const state = paymentStateOf(body, { intent: request.intent, money: request.money, isAfterApproval: false });
  if (state.kind === "failed" && state.errorCode === "invalid_operation") {
    // The buyer would need something other than a page, so this payment can never be approved.
    await callJson(context, requests.cancelByReference(request.reconciliationId, `${request.idempotencyKey}-x`));
  }
  return state;
}

/** Adyen accepts captures, cancellations and refunds, and reports their end by webhook. */
async function modify(
  requests: Requests,
  context: ConnectorContext,
  money: Money,
  callFor: (requests: AdyenRequests, amount: AdyenAmount) => ProviderCall,
): Promise<FollowUpOutcome> {
  const amount = amountOf(money);
  if (amount === undefined) return refused("invalid_amount", INEXPRESSIBLE);
  if (requests === undefined) return refused("invalid_service_configuration", NO_ADDRESS);
  const result = await callJson(context, callFor(requests, amount));
  if (result.kind === "never_sent") return refused("service_network_error", result.codes);
  if (result.kind === "unknown") return result;
  const { status, body } = result;
  if (status < 400) {
    const rawCode = textAt(body, "status");
    return { kind: "accepted", providerId: textAt(body, "pspReference"), codes: { rawCode } };
  }
  const codes = codesOfError(body);
  return isOpenError(body, result.transientError) ? { kind: "unknown", codes } : refused(errorOf(body, status), codes);
}

/**
 * Submits the buyer's return data. The buyer may have forged it, or send the result of another payment: only a response
 * that names this payment counts.
 */
async function finishApproval(
  requests: Requests,
  context: ConnectorContext,
  { payment, query }: ApprovalReturn,
): Promise<LookUpOutcome> {
  const redirectResult = query.get("redirectResult");
  if (redirectResult === null || redirectResult.length > 20_000 || requests === undefined)
    return { kind: "unsupported" };
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
  return { kind: "found", state: paymentStateOf(body, { ...payment, isAfterApproval: true }) };
}

async function checkCredentials(requests: Requests, context: ConnectorContext): Promise<CredentialsOutcome> {
  if (requests === undefined) return { kind: "refused" };
  const result = await callJson(context, requests.paymentMethods());
  if (result.kind !== "json") return { kind: "unclear" };
  if (result.status === 200) return { kind: "accepted" };
  // 901: the merchant account does not exist, or the key belongs to another one.
  const isRefused = [401, 403].includes(result.status) || textAt(result.body, "errorCode") === "901";
  return { kind: isRefused ? "refused" : "unclear" };
}

function amountOf({ amount, currency }: Money): AdyenAmount | undefined {
  const value = toProviderAmount(ADYEN_AMOUNTS, { amount, currency });
  return value === undefined ? undefined : { value, currency };
}
