import { toDecimalText } from "../../contract/amount.js";
import type { Connector } from "../../contract/connector.js";
import type { AuthorizationOutcome, CredentialsOutcome, FollowUpOutcome } from "../../contract/outcome.js";
import type {
  AuthorizationRequest,
  CaptureRequest,
  RefundRequest,
  VoidRequest,
} from "../../contract/payment-request.js";
import { endedAuthorization, refusedOperation, unansweredAuthorization, unansweredOperation } from "../ending.js";
import { errorOfStatus } from "../provider-json.js";
import { objectAt, textAt } from "../read-json.js";
import { sendsCvc } from "../sends-cvc.js";
import { serviceConnector } from "../service-connector.js";
import { errorOfDecline, errorOfMessage } from "./decline-codes.js";
import { findRefund, lookUpTransaction, transactionIn } from "./look-up.js";
import { DUPLICATE, providerCodes, readAuthorizationOutcome } from "./payment-state.js";
import { type AuthorizenetCall, AuthorizenetRequests, authorizenetAddress } from "./requests.js";
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
  return serviceConnector({
    formulaId: "authorizenet-card",
    addressOf: (context) => authorizenetAddress(context, address),
    requestsFor: (base, context) => new AuthorizenetRequests(base, context),
    amountOf: toDecimalText,
    authorize,
    capture,
    void: release,
    refund,
    lookUp: lookUpTransaction,
    checkCredentials,
    readWebhook: readAuthorizenetWebhook,
  });
}

async function authorize(
  { requests, context }: AuthorizenetCall,
  request: AuthorizationRequest,
  amount: string,
): Promise<AuthorizationOutcome> {
  const response = await ask(context, requests.pay(request, amount));
  if (response.kind === "never_sent" || response.kind === "unknown") return unansweredAuthorization(response);
  if (response.kind === "refused") return endedAuthorization(refusalError(response), { codes: response.codes });
  const transaction = objectAt(response.body, "transactionResponse");
  if (transaction === undefined) return { kind: "unknown", codes: { rawCode: "unreadable_answer" } };
  const sentCvc = sendsCvc(request);
  return readAuthorizationOutcome(transaction, { money: request.money, isSale: request.intent === "capture", sentCvc });
}

function refusalError({ code, status }: AuthorizeNetResponse & { kind: "refused" }) {
  return code === undefined ? errorOfStatus(status) : errorOfMessage(code);
}

function followUp(response: AuthorizeNetResponse): FollowUpOutcome {
  if (response.kind === "never_sent" || response.kind === "unknown") return unansweredOperation(response);
  if (response.kind === "refused") return refusedOperation(refusalError(response), response.codes);
  const transaction = objectAt(response.body, "transactionResponse");
  const responseCode = textAt(transaction, "responseCode");
  if (transaction === undefined || responseCode === undefined) {
    return { kind: "unknown", codes: { rawCode: "unreadable_answer" } };
  }
  const { rawCode, rawDescription } = providerCodes(transaction, false);
  const codes = { rawCode, rawDescription };
  if (responseCode === "1") return { kind: "done", providerId: textAt(transaction, "transId"), codes };
  if (responseCode === "4") return { kind: "accepted", providerId: textAt(transaction, "transId"), codes };
  return refusedOperation(errorOfDecline(rawCode, responseCode === "2"), codes);
}

async function capture(
  call: AuthorizenetCall,
  { payment, money }: CaptureRequest,
  amount: string,
): Promise<FollowUpOutcome> {
  const { requests, context } = call;
  const outcome = followUp(await ask(context, requests.capture(payment.providerId, payment.reconciliationId, amount)));
  if (outcome.kind === "done") return { ...outcome, amount: money.amount };
  if (outcome.kind !== "refused" || outcome.codes.rawCode !== ALREADY_CAPTURED) return outcome;
  // An earlier request of ours whose response was lost did it.
  const found = await lookUpTransaction(call, payment);
  if (found.kind !== "found") return { kind: "unknown", codes: outcome.codes };
  const { state } = found;
  return state.kind === "captured" ? { kind: "done", amount: state.amount, codes: outcome.codes } : outcome;
}

/** A void would also reverse a captured payment that is not settled, so this looks up the payment's state first. */
async function release(call: AuthorizenetCall, { payment }: VoidRequest): Promise<FollowUpOutcome> {
  const { requests, context } = call;
  const found = await lookUpTransaction(call, payment);
  if (found.kind === "unknown") return found;
  if (found.kind !== "found") return { kind: "unknown", codes: { rawCode: "no_such_payment" } };
  const { state } = found;
  if (state.kind === "voided") return { kind: "done", codes: state.codes };
  if (state.kind !== "authorized") return refusedOperation("unexpected_state", state.codes);
  return followUp(await ask(context, requests.void(state.providerId, payment.reconciliationId)));
}

/** Needs the card's last digits, and first looks for a refund made by an earlier request of ours. */
async function refund(
  call: AuthorizenetCall,
  { payment, reference }: RefundRequest,
  amount: string,
): Promise<FollowUpOutcome> {
  const { requests, context } = call;
  const earlier = await findRefund(call, reference);
  if (earlier.kind !== "absent") return earlier;
  const response = await ask(context, requests.details(payment.providerId));
  const transaction = transactionIn(response);
  const lastFour = /\d{4}$/.exec(textAt(transaction, "payment", "creditCard", "cardNumber") ?? "")?.[0];
  if (lastFour === undefined) {
    if (response.kind === "refused") return refusedOperation(refusalError(response), response.codes);
    return { kind: "unknown", codes: response.kind === "ok" ? { rawCode: "unreadable_answer" } : response.codes };
  }
  const outcome = followUp(await ask(context, requests.refund(payment.providerId, reference, amount, lastFour)));
  const { rawCode } = outcome.codes;
  if (outcome.kind !== "refused" || (rawCode !== DUPLICATE && rawCode !== TOO_MUCH)) return outcome;
  // An earlier request of ours, settled by now, may be the conflict.
  const made = await findRefund(call, reference, true);
  if (made.kind !== "absent") return made;
  return rawCode === DUPLICATE ? { kind: "unknown", codes: outcome.codes } : outcome;
}

async function checkCredentials({ requests, context }: AuthorizenetCall): Promise<CredentialsOutcome> {
  const response = await ask(context, requests.authenticate());
  if (response.kind === "ok") return { kind: "accepted" };
  const isRefused = response.kind === "refused" && refusalError(response) === "invalid_service_credentials";
  return { kind: isRefused ? "refused" : "unclear" };
}
