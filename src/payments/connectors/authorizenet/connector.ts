import { toDecimalText } from "../../amount.js";
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
import { errorOfStatus } from "../provider-json.js";
import { objectAt, textAt } from "../read-json.js";
import { redacting } from "../redacting.js";
import { sendsCvc } from "../sends-cvc.js";
import { findRefund, lookUpTransaction, transactionIn } from "./look-up.js";
import { codesOf, DUPLICATE, outcomeOf } from "./payment-state.js";
import { errorOfMessage, errorOfReason } from "./reason-codes.js";
import { AuthorizenetRequests, authorizenetAddress } from "./requests.js";
import { type AuthorizeNetResponse, ask } from "./response.js";
import { readAuthorizenetWebhook } from "./webhook.js";

const ALREADY_CAPTURED = "311";
/** The refund exceeds the captured amount. */
const TOO_MUCH = "55";

/**
 * Authorize.net's JSON endpoint. It has no idempotency keys, so we look for our reference before sending a request
 * again.
 */
export function authorizenetConnector(address?: string): Connector {
  const requestsFor = (context: ConnectorContext) => new AuthorizenetRequests(address, context);
  const lookUp = (context: ConnectorContext, payment: PaymentReference) =>
    lookUpTransaction(requestsFor(context), context, payment);
  return redacting({
    formulaId: "authorizenet-card",
    hostOf: (context) => hostIn(authorizenetAddress(context, address)),
    authorize: (context, request) => authorize(requestsFor(context), context, request),
    capture: (context, request) => capture(requestsFor(context), context, request),
    void: (context, request) => release(requestsFor(context), context, request),
    refund: (context, request) => refund(requestsFor(context), context, request),
    lookUp,
    finishApproval: (context, { payment }) => lookUp(context, payment),
    checkCredentials: (context) => checkCredentials(requestsFor(context), context),
    readWebhook: readAuthorizenetWebhook,
  });
}

type Requests = AuthorizenetRequests;

async function authorize(
  requests: Requests,
  context: ConnectorContext,
  request: AuthorizationRequest,
): Promise<AuthorizationOutcome> {
  const amount = toDecimalText(request.money);
  if (amount === undefined) return ended("invalid_amount", { codes: INEXPRESSIBLE });
  const response = await ask(context, requests.pay(request, amount));
  if (response.kind === "never_sent") return ended("service_network_error", { codes: response.codes });
  if (response.kind === "unknown") return response;
  if (response.kind === "refused") return ended(errorOf(response), { codes: response.codes });
  const transaction = objectAt(response.body, "transactionResponse");
  if (transaction === undefined) return { kind: "unknown", codes: { rawCode: "unreadable_answer" } };
  const sentCvc = sendsCvc(request);
  return outcomeOf(transaction, { money: request.money, isSale: request.intent === "capture", sentCvc });
}

function errorOf({ code, status }: AuthorizeNetResponse & { kind: "refused" }) {
  return code === undefined ? errorOfStatus(status) : errorOfMessage(code);
}

/** How a capture, void or refund ended. */
function followUp(response: AuthorizeNetResponse): FollowUpOutcome {
  if (response.kind === "never_sent") return refused("service_network_error", response.codes);
  if (response.kind === "unknown") return response;
  if (response.kind === "refused") return refused(errorOf(response), response.codes);
  const transaction = objectAt(response.body, "transactionResponse");
  const responseCode = textAt(transaction, "responseCode");
  if (transaction === undefined || responseCode === undefined) {
    return { kind: "unknown", codes: { rawCode: "unreadable_answer" } };
  }
  const { rawCode, rawDescription } = codesOf(transaction, false);
  const codes = { rawCode, rawDescription };
  if (responseCode === "1") return { kind: "done", providerId: textAt(transaction, "transId"), codes };
  if (responseCode === "4") return { kind: "accepted", providerId: textAt(transaction, "transId"), codes };
  return refused(errorOfReason(rawCode, responseCode === "2"), codes);
}

async function capture(
  requests: Requests,
  context: ConnectorContext,
  { payment, money }: CaptureRequest,
): Promise<FollowUpOutcome> {
  const amount = toDecimalText(money);
  if (amount === undefined) return refused("invalid_amount", INEXPRESSIBLE);
  const outcome = followUp(await ask(context, requests.capture(payment.providerId, payment.reconciliationId, amount)));
  if (outcome.kind === "done") return { ...outcome, amount: money.amount };
  if (outcome.kind !== "refused" || outcome.codes.rawCode !== ALREADY_CAPTURED) return outcome;
  // An earlier request of ours whose response was lost did it.
  const found = await lookUpTransaction(requests, context, payment);
  if (found.kind !== "found") return { kind: "unknown", codes: outcome.codes };
  const { state } = found;
  return state.kind === "captured" ? { kind: "done", amount: state.amount, codes: outcome.codes } : outcome;
}

/** A void would also reverse a captured payment that is not settled, so this looks up the payment's state first. */
async function release(
  requests: Requests,
  context: ConnectorContext,
  { payment }: VoidRequest,
): Promise<FollowUpOutcome> {
  const found = await lookUpTransaction(requests, context, payment);
  if (found.kind === "unknown") return found;
  if (found.kind !== "found") return { kind: "unknown", codes: { rawCode: "no_such_payment" } };
  const { state } = found;
  if (state.kind === "voided") return { kind: "done", codes: state.codes };
  if (state.kind !== "authorized") return refused("unexpected_state", state.codes);
  return followUp(await ask(context, requests.void(state.providerId, payment.reconciliationId)));
}

/** Needs the card's last digits, and first looks for a refund made by an earlier request of ours. */
async function refund(
  requests: Requests,
  context: ConnectorContext,
  { payment, reference, money }: RefundRequest,
): Promise<FollowUpOutcome> {
  const amount = toDecimalText(money);
  if (amount === undefined) return refused("invalid_amount", INEXPRESSIBLE);
  const earlier = await findRefund(requests, context, reference);
  if (earlier.kind !== "absent") return earlier;
  const response = await ask(context, requests.details(payment.providerId));
  const transaction = transactionIn(response);
  const lastFour = /\d{4}$/.exec(textAt(transaction, "payment", "creditCard", "cardNumber") ?? "")?.[0];
  if (lastFour === undefined) {
    if (response.kind === "refused") return refused(errorOf(response), response.codes);
    return { kind: "unknown", codes: response.kind === "ok" ? { rawCode: "unreadable_answer" } : response.codes };
  }
  const outcome = followUp(await ask(context, requests.refund(payment.providerId, reference, amount, lastFour)));
  const { rawCode } = outcome.codes;
  if (outcome.kind !== "refused" || (rawCode !== DUPLICATE && rawCode !== TOO_MUCH)) return outcome;
  // An earlier request of ours, settled by now, may be the conflict.
  const made = await findRefund(requests, context, reference, true);
  if (made.kind !== "absent") return made;
  return rawCode === DUPLICATE ? { kind: "unknown", codes: outcome.codes } : outcome;
}

async function checkCredentials(requests: Requests, context: ConnectorContext): Promise<CredentialsOutcome> {
  const response = await ask(context, requests.authenticate());
  if (response.kind === "ok") return { kind: "accepted" };
  const isRefused = response.kind === "refused" && errorOf(response) === "invalid_service_credentials";
  return { kind: isRefused ? "refused" : "unclear" };
}
