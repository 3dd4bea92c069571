import { fromBase62 } from "../../../base/base-n.js";
import { isJsonObject, type JsonObject } from "../../../base/json.js";
import type { FoundRefund, LookUpOutcome, Unknown } from "../../contract/outcome.js";
import type { PaymentReference } from "../../contract/payment-request.js";
import { callJson } from "../provider-json.js";
import { listAt, objectAt, textAt } from "../read-json.js";
import { moneyAt } from "./amounts.js";
import { providerCodes } from "./error.js";
import { readPaymentState, untakenRest } from "./payment-state.js";
import { isReturned, refundOutcome } from "./refund.js";
import type { StripeCall } from "./requests.js";

/** The search index may lag by this much; newer payments are found by listing. */
const INDEX_LAG_S = 3_600;
/** The largest difference expected between our clock and Stripe's. */
const CLOCK_SKEW_S = 60;
const PAGE = 100;
const MAX_PAGES = 10;

/** Looks up the payment's state by its id, or by our reference in its metadata if it has no id. */
export async function lookUpIntent(call: StripeCall, payment: PaymentReference): Promise<LookUpOutcome> {
  const { requests, context } = call;
  const providerId = payment.providerId ?? (await findIntent(call, payment.reconciliationId));
  if (typeof providerId !== "string") return providerId;
  const result = await callJson(context, requests.read(providerId));
  if (result.kind === "never_sent") return { kind: "unknown", codes: result.codes };
  if (result.kind === "unknown") return result;
  if (result.status === 404) return { kind: "absent" };
  if (result.status !== 200) return { kind: "unknown", codes: providerCodes(objectAt(result.body, "error")) };
  const state = readPaymentState(result.body, payment.intent);
  if (state.kind !== "captured") return { kind: "found", state };
  const listed = await listRefunds(call, providerId);
  if (listed === undefined) return { kind: "found", state };
  const refundedAmount = listed.isAll ? totalOf(listed.refunds, untakenRest(result.body)) : state.refundedAmount;
  const refunds = listed.refunds.flatMap(foundRefund);
  return { kind: "found", state: { ...state, ...(refundedAmount !== undefined && { refundedAmount }) }, refunds };
}

type FoundId = string | Unknown | { readonly kind: "absent" };

/** The id of the intent with our reference. */
export async function findIntent(call: StripeCall, reconciliationId: string): Promise<FoundId> {
  const { requests, context } = call;
  const searched = await callJson(context, requests.search(reconciliationId));
  if (searched.kind === "json" && searched.status === 200) {
    const found = idIn(searched.body, reconciliationId);
    if (found !== undefined) return found;
    return listSince(call, reconciliationId, Math.floor(context.now.getTime() / 1000) - INDEX_LAG_S);
  }
  // Accounts in some countries have no search.
  if (searched.kind === "json" && searched.status === 400) return listSince(call, reconciliationId, 0);
  return {
    kind: "unknown",
    codes: searched.kind === "json" ? providerCodes(objectAt(searched.body, "error")) : searched.codes,
  };
}

async function listSince(
  { requests, context }: StripeCall,
  reconciliationId: string,
  earliest: number,
): Promise<FoundId> {
  const since = Math.max(earliest, createdSeconds(reconciliationId) - CLOCK_SKEW_S);
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = { created: { gte: since }, limit: PAGE, starting_after: after };
    const result = await callJson(context, requests.list(query));
    if (result.kind !== "json") return { kind: "unknown", codes: result.codes };
    if (result.status !== 200) return { kind: "unknown", codes: providerCodes(objectAt(result.body, "error")) };
    const found = idIn(result.body, reconciliationId);
    if (found !== undefined) return found;
    after = textAt(listAt(result.body, "data").at(-1), "id");
    if (result.body.has_more !== true || after === undefined) return { kind: "absent" };
  }
  return { kind: "unknown", codes: { rawCode: "too_many_payments" } };
}

/** Our ids begin with their creation time in milliseconds (UUID version 7). */
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

interface ListedRefunds {
  /** Newest first. */
  readonly refunds: readonly JsonObject[];
  readonly isAll: boolean;
}

async function listRefunds({ requests, context }: StripeCall, providerId: string): Promise<ListedRefunds | undefined> {
  const result = await callJson(context, requests.refunds(providerId));
  if (result.kind !== "json" || result.status !== 200) return undefined;
  const refunds = listAt(result.body, "data").filter(isJsonObject);
  return { refunds, isAll: result.body.has_more !== true };
}

/**
 * The sum of the listed refunds. The list may begin with the unused rest of a partial capture, which no caller
 * requested: that money was never taken.
 */
function totalOf(refunds: readonly JsonObject[], rest: number): number {
  const returned = refunds.filter(isReturned);
  const isOfRest = (refund: JsonObject) => referenceIn(refund) === undefined && moneyAt(refund, "amount") === rest;
  const ofRest = rest > 0 ? returned.findLast(isOfRest) : undefined;
  return returned
    .filter((refund) => refund !== ofRest)
    .reduce((total, refund) => total + (moneyAt(refund, "amount") ?? 0), 0);
}

function foundRefund(refund: JsonObject): FoundRefund[] {
  const providerId = textAt(refund, "id");
  if (providerId === undefined) return [];
  return [{ providerId, reference: referenceIn(refund), outcome: refundOutcome(refund) }];
}

/** The reference of a refund of ours. Other refunds have none. */
function referenceIn(refund: JsonObject): string | undefined {
  return textAt(refund, "metadata", "reference");
}
