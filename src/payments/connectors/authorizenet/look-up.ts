import { fromBase62 } from "../../../base/base-n.js";
import type { Json, JsonObject } from "../../../base/json.js";
import type { ConnectorContext } from "../../connector.js";
import type { FollowUpOutcome, LookUpOutcome, Unknown } from "../../outcome.js";
import type { PaymentReference } from "../../payment-request.js";
import type { ProviderCall } from "../../provider-http.js";
import { refused } from "../ending.js";
import { listAt, objectAt, textAt, valueAt } from "../read-json.js";
import { type Answer, ask } from "./answer.js";
import { type AuthorizenetRequests, invoiceOf, PAGE } from "./requests.js";
import { standingOf } from "./standing.js";

const MOST_PAGES = 10;
const HOUR_MS = 3_600_000;
/**
 * For so long the service knows duplicates (8 h, less what a request is on its way and clocks differ): what was not found
 * may be sent again.
 */
const DUPLICATES_KNOWN_MS = 7.5 * HOUR_MS;
/** Batches are listed for 31 days at most in one request. */
const SETTLED_LISTED_MS = 30 * 24 * HOUR_MS;
const CLOCK_SKEW_MS = HOUR_MS;
/** Refused at once: nothing of the sort is there, and the same may be asked for again. */
const REFUSED: readonly (string | undefined)[] = ["declined", "generalError", "communicationError"];
/** Refused after it was taken on. */
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

/** How a payment stands: by its id where it is known, else by our reference among what is settled or not. */
export async function lookUpTransaction(
  requests: AuthorizenetRequests,
  context: ConnectorContext,
  payment: PaymentReference,
): Promise<LookUpOutcome> {
  const { reconciliationId, providerId } = payment;
  const found: Search =
    providerId === undefined
      ? await findAnywhere(requests, context, reconciliationId)
      : { kind: "listed", transId: providerId, status: undefined };
  if (found.kind === "unknown") return found;
  if (found.kind === "absent") {
    return isForgotten(context, reconciliationId) ? unknown("no_longer_listed") : { kind: "absent" };
  }
  const { transId } = found;
  const answer = await ask(context, requests.details(transId));
  const transaction = transactionIn(answer);
  if (transaction === undefined) {
    if (answer.kind === "refused" && answer.code === "E00040") return { kind: "absent" };
    return answer.kind === "ok" ? unknown("unreadable_answer") : { kind: "unknown", codes: answer.codes };
  }
  return { kind: "found", standing: standingOf(transaction, transId, payment.money.currency) };
}

/**
 * How a refund stands that an earlier request of ours may have made. While the service knows duplicates it is enough to
 * look among what is not settled; `everywhere` looks further all the same.
 */
export async function findRefund(
  requests: AuthorizenetRequests,
  context: ConnectorContext,
  reference: string,
  everywhere = isForgotten(context, reference),
): Promise<FollowUpOutcome | { readonly kind: "absent" }> {
  const found = everywhere
    ? await findAnywhere(requests, context, reference)
    : await findUnsettled(requests, context, reference);
  if (found.kind !== "listed") return found;
  const { transId, status } = found;
  const codes = { rawCode: status };
  if (RETURNED.includes(status)) return { kind: "done", providerId: transId, codes: {} };
  if (REFUSED.includes(status)) return { kind: "absent" };
  // By the merchant, before it was settled.
  if (status === "voided") return refused("canceled", codes);
  if (FAILED.includes(status)) return refused("service_error", codes);
  return REVIEWED.includes(status) ? { kind: "accepted", providerId: transId, codes } : { kind: "unknown", codes };
}

/** What `getTransactionDetailsRequest` was answered with. */
export function transactionIn(answer: Answer): JsonObject | undefined {
  return answer.kind === "ok" ? objectAt(answer.body, "transaction") : undefined;
}

/**
 * What is settled meanwhile is found among the settled, since it is looked for there last. So is what succeeded before a
 * repetition of it was refused, while that one is not settled yet.
 */
async function findAnywhere(
  requests: AuthorizenetRequests,
  context: ConnectorContext,
  reference: string,
): Promise<Search> {
  const found = await findUnsettled(requests, context, reference);
  if (found.kind === "unknown" || (found.kind === "listed" && !cameToNothing(found))) return found;
  const settled = await findSettled(requests, context, reference);
  return settled.kind === "absent" ? found : settled;
}

function cameToNothing({ status }: Listed): boolean {
  return REFUSED.includes(status) || FAILED.includes(status);
}

function findUnsettled(requests: AuthorizenetRequests, context: ConnectorContext, reference: string): Promise<Search> {
  return findIn(context, reference, (page) => requests.unsettled(page));
}

/** Among what was settled since the reference was made. */
async function findSettled(
  requests: AuthorizenetRequests,
  context: ConnectorContext,
  reference: string,
): Promise<Search> {
  const age = ageOf(context, reference);
  if (age > SETTLED_LISTED_MS) return unknown("no_longer_listed");
  const since = new Date(context.now.getTime() - Math.max(age, 0) - CLOCK_SKEW_MS);
  const answer = await ask(context, requests.batches(since, context.now));
  if (answer.kind !== "ok") return { kind: "unknown", codes: answer.codes };
  const batches = rowsOf(answer.body, "batchList");
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

/** The one that was not refused, else a refused one, in a list that comes page by page. */
async function findIn(
  context: ConnectorContext,
  reference: string,
  pageOf: (page: number) => ProviderCall,
): Promise<Search> {
  let refusedOne: Search = { kind: "absent" };
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const answer = await ask(context, pageOf(page));
    if (answer.kind !== "ok") return { kind: "unknown", codes: answer.codes };
    const rows = rowsOf(answer.body, "transactions");
    if (rows === undefined) return unknown("unreadable_answer");
    for (const row of rows.filter((each) => textAt(each, "invoiceNumber") === invoiceOf(reference))) {
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

/** An answer without the list has no rows; undefined for one that cannot be read. */
function rowsOf(body: JsonObject, key: string): readonly Json[] | undefined {
  const value = valueAt(body, key);
  return value === undefined || value === null || Array.isArray(value) ? listAt(body, key) : undefined;
}

/** Whether the service may take the same request once more for a new one. */
function isForgotten(context: ConnectorContext, reference: string): boolean {
  return ageOf(context, reference) > DUPLICATES_KNOWN_MS;
}

/** Milliseconds. Our ids begin with those of their making (UUID version 7). */
function ageOf({ now }: ConnectorContext, reference: string): number {
  return now.getTime() - (fromBase62(reference, 16)?.readUIntBE(0, 6) ?? 0);
}

function unknown(rawCode: string): Unknown {
  return { kind: "unknown", codes: { rawCode } };
}
