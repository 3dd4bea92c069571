import { fromBase62 } from "../../../base/base-n.js";
import type { JsonObject } from "../../../base/json.js";
import type { ConnectorContext } from "../../connector.js";
import type { FoundRefund, LookUpOutcome, Unknown } from "../../outcome.js";
import type { PaymentReference } from "../../payment-request.js";
import { callJson } from "../provider-json.js";
import { listAt, objectAt, textAt } from "../read-json.js";
import { codesOf } from "./error.js";
import { refundOutcome } from "./refund.js";
import type { StripeRequests } from "./requests.js";
import { standingOf } from "./standing.js";

/** The search index may be this far behind; what is younger is found by listing. */
const INDEX_LAG_S = 3_600;
/** Our clock and Stripe's may differ by so much. */
const CLOCK_SKEW_S = 60;
const PAGE = 100;
const MOST_PAGES = 10;

/** How a payment stands: by its id where it is known, else by our reference in its metadata. */
export async function lookUpIntent(
  requests: StripeRequests,
  context: ConnectorContext,
  payment: PaymentReference,
): Promise<LookUpOutcome> {
  const providerId = payment.providerId ?? (await findIntent(requests, context, payment.reconciliationId));
  if (typeof providerId !== "string") return providerId;
  const reply = await callJson(context, requests.read(providerId));
  if (reply.kind === "never_sent") return { kind: "unknown", codes: reply.codes };
  if (reply.kind === "unknown") return reply;
  if (reply.status === 404) return { kind: "absent" };
  if (reply.status !== 200) return { kind: "unknown", codes: codesOf(objectAt(reply.body, "error")) };
  const standing = standingOf(reply.body, payment.intent);
  if (standing.kind !== "captured") return { kind: "found", standing };
  const refunds = await refundsOf(requests, context, providerId);
  return { kind: "found", standing, ...(refunds && { refunds }) };
}

/** The id of the intent that carries our reference. */
export async function findIntent(
  requests: StripeRequests,
  context: ConnectorContext,
  reconciliationId: string,
): Promise<string | Unknown | { readonly kind: "absent" }> {
  const searched = await callJson(context, requests.search(reconciliationId));
  if (searched.kind === "json" && searched.status === 200) {
    const found = idIn(searched.body, reconciliationId);
    if (found !== undefined) return found;
    return listSince(requests, context, reconciliationId, Math.floor(context.now.getTime() / 1000) - INDEX_LAG_S);
  }
  // Some countries' accounts have no search.
  if (searched.kind === "json" && searched.status === 400) return listSince(requests, context, reconciliationId, 0);
  return {
    kind: "unknown",
    codes: searched.kind === "json" ? codesOf(objectAt(searched.body, "error")) : searched.codes,
  };
}

async function listSince(
  requests: StripeRequests,
  context: ConnectorContext,
  reconciliationId: string,
  earliest: number,
): Promise<string | Unknown | { readonly kind: "absent" }> {
  const since = Math.max(earliest, createdSeconds(reconciliationId) - CLOCK_SKEW_S);
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = { created: { gte: since }, limit: PAGE, starting_after: after };
    const reply = await callJson(context, requests.list(query));
    if (reply.kind !== "json") return { kind: "unknown", codes: reply.codes };
    if (reply.status !== 200) return { kind: "unknown", codes: codesOf(objectAt(reply.body, "error")) };
    const found = idIn(reply.body, reconciliationId);
    if (found !== undefined) return found;
    after = textAt(listAt(reply.body, "data").at(-1), "id");
    if (reply.body.has_more !== true || after === undefined) return { kind: "absent" };
  }
  return { kind: "unknown", codes: { rawCode: "too_many_payments" } };
}

/** Our ids begin with the milliseconds of their making (UUID version 7). */
function createdSeconds(reconciliationId: string): number {
  const bytes = fromBase62(reconciliationId, 16);
  return bytes ? Math.floor(bytes.readUIntBE(0, 6) / 1000) : 0;
}

function idIn(page: JsonObject, reconciliationId: string): string | undefined {
  const intent = listAt(page, "data").find(
    (each) => textAt(each, "metadata", "reconciliation_id") === reconciliationId,
  );
  return textAt(intent, "id");
}

async function refundsOf(
  requests: StripeRequests,
  context: ConnectorContext,
  providerId: string,
): Promise<readonly FoundRefund[] | undefined> {
  const reply = await callJson(context, requests.refunds(providerId));
  if (reply.kind !== "json" || reply.status !== 200) return undefined;
  return listAt(reply.body, "data").flatMap((refund): FoundRefund[] => {
    const body = objectAt(refund);
    const id = textAt(body, "id");
    if (body === undefined || id === undefined) return [];
    return [{ providerId: id, reference: textAt(body, "metadata", "reference"), outcome: refundOutcome(body) }];
  });
}
