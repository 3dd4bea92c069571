import { fromBase62 } from "../../../base/base-n.js";
import { DAY_MS, HOUR_MS } from "../../../base/clock.js";
import type { Json, JsonObject } from "../../../base/json.js";
import type { ConnectorContext } from "../../contract/connector.js";
import type { FollowUpOutcome, LookUpOutcome, Unknown } from "../../contract/outcome.js";
import type { PaymentReference } from "../../contract/payment-request.js";
import type { ProviderCall } from "../../contract/provider-http.js";
import { refusedOperation } from "../ending.js";
import { listAt, objectAt, textAt, valueAt } from "../read-json.js";
import { readPaymentState } from "./payment-state.js";
import { type AuthorizenetCall, invoiceNumberFor, PAGE } from "./requests.js";
import { type AuthorizeNetResponse, ask } from "./response.js";

const MAX_PAGES = 10;
/**
 * The service detects duplicates for 8 h, less the request's duration and the clock difference. Within this time, a
 * request that was not found may be sent again.
 */
const DUPLICATES_KNOWN_MS = 7.5 * HOUR_MS;
/** One request lists the batches of at most 31 days. */
const SETTLED_LISTED_MS = 30 * DAY_MS;
const CLOCK_SKEW_MS = HOUR_MS;
/** Refused immediately: no transaction exists, and the request may be repeated. */
const REFUSED: readonly (string | undefined)[] = ["declined", "generalError", "communicationError"];
/** Refused after it was accepted. */
const FAILED: readonly (string | undefined)[] = ["settlementError", "failedReview"];
const REVIEWED: readonly (string | undefined)[] = ["underReview", "FDSPendingReview"];
const RETURNED: readonly (string | undefined)[] = ["refundPendingSettlement", "refundSettledSuccessfully"];

/** A transaction that carries our reference as its invoice number. */
interface Listed {
  readonly kind: "listed";
  readonly transId: string;
  readonly status: string | undefined;
}
type Search = Listed | Unknown | { readonly kind: "absent" };

/**
 * Looks up the payment's state by its id, or by our reference among settled and unsettled transactions if it has no id.
 */
export async function lookUpTransaction(call: AuthorizenetCall, payment: PaymentReference): Promise<LookUpOutcome> {
  const { requests, context } = call;
  const { reconciliationId, providerId } = payment;
  const found: Search =
    providerId === undefined
      ? await findAnywhere(call, reconciliationId)
      : { kind: "listed", transId: providerId, status: undefined };
  if (found.kind === "unknown") return found;
  if (found.kind === "absent") {
    return isForgotten(context, reconciliationId) ? unknown("no_longer_listed") : { kind: "absent" };
  }
  const { transId } = found;
  const response = await ask(context, requests.details(transId));
  const transaction = transactionIn(response);
  if (transaction === undefined) {
    if (response.kind === "refused" && response.code === "E00040") return { kind: "absent" };
    return response.kind === "ok" ? unknown("unreadable_answer") : { kind: "unknown", codes: response.codes };
  }
  return { kind: "found", state: readPaymentState(transaction, transId, payment.money.currency) };
}

/**
 * Looks up the state of a refund that an earlier request of ours may have made. While the service detects duplicates,
 * it is enough to search the unsettled transactions; `everywhere` searches all of them regardless.
 */
export async function findRefund(
  call: AuthorizenetCall,
  reference: string,
  everywhere = isForgotten(call.context, reference),
): Promise<FollowUpOutcome | { readonly kind: "absent" }> {
  const found = await (everywhere ? findAnywhere : findUnsettled)(call, reference);
  if (found.kind !== "listed") return found;
  const { transId, status } = found;
  const codes = { rawCode: status };
  if (RETURNED.includes(status)) return { kind: "done", providerId: transId, codes: {} };
  if (REFUSED.includes(status)) return { kind: "absent" };
  // The merchant voided it before settlement.
  if (status === "voided") return refusedOperation("canceled", codes);
  if (FAILED.includes(status)) return refusedOperation("service_error", codes);
  return REVIEWED.includes(status) ? { kind: "accepted", providerId: transId, codes } : { kind: "unknown", codes };
}

/** The transaction in a response to `getTransactionDetailsRequest`. */
export function transactionIn(response: AuthorizeNetResponse): JsonObject | undefined {
  return response.kind === "ok" ? objectAt(response.body, "transaction") : undefined;
}

/**
 * The settled transactions are searched last, to find one that settles during the search. The search also finds an
 * unsettled success that precedes a refused repetition.
 */
async function findAnywhere(call: AuthorizenetCall, reference: string): Promise<Search> {
  const found = await findUnsettled(call, reference);
  if (found.kind === "unknown" || (found.kind === "listed" && !cameToNothing(found))) return found;
  const settled = await findSettled(call, reference);
  return settled.kind === "absent" ? found : settled;
}

function cameToNothing({ status }: Listed): boolean {
  return REFUSED.includes(status) || FAILED.includes(status);
}

function findUnsettled({ requests, context }: AuthorizenetCall, reference: string): Promise<Search> {
  return findIn(context, reference, (page) => requests.unsettled(page));
}

/** Searches the transactions settled since the reference was created. */
async function findSettled({ requests, context }: AuthorizenetCall, reference: string): Promise<Search> {
  const age = ageOf(context, reference);
  if (age > SETTLED_LISTED_MS) return unknown("no_longer_listed");
  const since = new Date(context.now.getTime() - Math.max(age, 0) - CLOCK_SKEW_MS);
  const response = await ask(context, requests.batches(since, context.now));
  if (response.kind !== "ok") return { kind: "unknown", codes: response.codes };
  const batches = listedRows(response.body, "batchList");
  if (batches === undefined) return unknown("unreadable_answer");
  let refusedOne: Search = { kind: "absent" };
  for (const batch of batches) {
    const batchId = textAt(batch, "batchId");
    if (batchId === undefined) return unknown("unreadable_answer");
    const found = await findIn(context, reference, (page) => requests.settled(batchId, page));
    if (found.kind === "unknown" || (found.kind === "listed" && !cameToNothing(found))) return found;
    if (found.kind === "listed") refusedOne = found;
  }
  return refusedOne;
}

/** Searches a paged list. Prefers a transaction that was not refused. */
async function findIn(
  context: ConnectorContext,
  reference: string,
  pageOf: (page: number) => ProviderCall,
): Promise<Search> {
  let refusedOne: Search = { kind: "absent" };
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const response = await ask(context, pageOf(page));
    if (response.kind !== "ok") return { kind: "unknown", codes: response.codes };
    const rows = listedRows(response.body, "transactions");
    if (rows === undefined) return unknown("unreadable_answer");
    for (const row of rows.filter((each) => textAt(each, "invoiceNumber") === invoiceNumberFor(reference))) {
      const transId = textAt(row, "transId");
      if (transId === undefined) return unknown("unreadable_answer");
      const found: Listed = { kind: "listed", transId, status: textAt(row, "transactionStatus") };
      if (!cameToNothing(found)) return found;
      refusedOne = found;
    }
    if (rows.length < PAGE) return refusedOne;
  }
  return unknown("too_many_payments");
}

/** Returns no rows for a response without the list, and undefined for an unreadable response. */
function listedRows(body: JsonObject, key: string): readonly Json[] | undefined {
  const value = valueAt(body, key);
  return value === undefined || value === null || Array.isArray(value) ? listAt(body, key) : undefined;
}

/** Whether the service may no longer detect a repeated request as a duplicate. */
function isForgotten(context: ConnectorContext, reference: string): boolean {
  return ageOf(context, reference) > DUPLICATES_KNOWN_MS;
}

/** Milliseconds. Our ids begin with their creation time (UUID version 7). */
function ageOf({ now }: ConnectorContext, reference: string): number {
  return now.getTime() - (fromBase62(reference, 16)?.readUIntBE(0, 6) ?? 0);
}

function unknown(rawCode: string): Unknown {
  return { kind: "unknown", codes: { rawCode } };
}
