import type { JsonObject } from "../../../base/json.js";
import type { ConnectorContext } from "../../connector.js";
import type { FollowUpOutcome, FoundRefund, LookUpOutcome, Unknown } from "../../outcome.js";
import type { PaymentReference } from "../../payment-request.js";
import { callJson } from "../provider-json.js";
import { listAt, objectAt, textAt } from "../read-json.js";
import { codesOfError } from "./error.js";
import type { CheckoutcomRequests } from "./requests.js";
import { refusalOf, standingOf } from "./standing.js";

/** How a payment stands: by its id where it is known, else by our reference. */
export async function lookUpPayment(
  requests: CheckoutcomRequests,
  context: ConnectorContext,
  payment: PaymentReference,
): Promise<LookUpOutcome> {
  const providerId = payment.providerId ?? (await findPayment(requests, context, payment.reconciliationId));
  if (typeof providerId !== "string") return providerId;
  const reply = await callJson(context, requests.read(providerId));
  if (reply.kind !== "json") return { kind: "unknown", codes: reply.codes };
  if (reply.status === 404) return { kind: "absent" };
  if (reply.status >= 400) return { kind: "unknown", codes: codesOfError(reply.body, reply.status) };
  const standing = standingOf(reply.body, payment.intent);
  if (standing.kind !== "captured") return { kind: "found", standing };
  const refunds = await refundsOf(requests, context, providerId);
  return { kind: "found", standing, ...(refunds && { refunds }) };
}

/** The id of the payment that carries our reference; the approved one where there were several. */
export async function findPayment(
  requests: CheckoutcomRequests,
  context: ConnectorContext,
  reference: string,
): Promise<string | Unknown | { readonly kind: "absent" }> {
  const reply = await callJson(context, requests.find(reference));
  if (reply.kind !== "json") return { kind: "unknown", codes: reply.codes };
  if (reply.status >= 400) return { kind: "unknown", codes: codesOfError(reply.body, reply.status) };
  const found = listAt(reply.body, "data").filter((each) => textAt(each, "reference") === reference);
  const id = textAt(found.find((each) => objectAt(each)?.approved === true) ?? found[0], "id");
  return id ?? { kind: "absent" };
}

async function refundsOf(
  requests: CheckoutcomRequests,
  context: ConnectorContext,
  providerId: string,
): Promise<readonly FoundRefund[] | undefined> {
  const reply = await callJson(context, requests.actions(providerId));
  if (reply.kind !== "json" || reply.status >= 400) return undefined;
  return listAt(reply.body, "items").flatMap((action): FoundRefund[] => {
    const body = objectAt(action);
    const id = textAt(body, "id");
    if (body === undefined || id === undefined || textAt(body, "type") !== "Refund") return [];
    return [{ providerId: id, reference: textAt(body, "reference"), outcome: actionOutcome(body) }];
  });
}

/** How a capture, void or refund ended, from its action or from the webhook that tells of it. */
export function actionOutcome(action: JsonObject): FollowUpOutcome {
  const rawCode = textAt(action, "response_code");
  const codes = { rawCode, rawDescription: textAt(action, "response_summary") };
  if (rawCode === undefined) return { kind: "accepted", providerId: textAt(action, "id"), codes };
  if (!rawCode.startsWith("10")) return { kind: "refused", ...refusalOf(rawCode), codes };
  return { kind: "done", providerId: textAt(action, "action_id") ?? textAt(action, "id"), codes };
}
