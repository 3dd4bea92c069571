import { fromBase62 } from "../../../base/base-n.js";
import type { JsonObject } from "../../../base/json.js";
import type { ConnectorContext } from "../../connector.js";
import type { LookUpOutcome, Unknown } from "../../outcome.js";
import type { PaymentReference } from "../../payment-request.js";
import { listAt, objectAt, textAt } from "../read-json.js";
import { type Answer, ask } from "./answer.js";
import { type AuthorizenetRequests, invoiceOf, PAGE } from "./requests.js";
import { standingOf } from "./standing.js";

const MOST_PAGES = 10;
/** Payments leave the list when they are settled, once a day; until then the service also knows duplicates. */
const LISTED_MS = 8 * 3_600_000;

/** How a payment stands: by its id where it is known, else by our reference among what is not settled yet. */
export async function lookUpTransaction(
  requests: AuthorizenetRequests,
  context: ConnectorContext,
  payment: PaymentReference,
): Promise<LookUpOutcome> {
  const found = payment.providerId ?? (await findUnsettled(requests, context, payment.reconciliationId, true));
  if (typeof found !== "string") {
    if (found.kind === "unknown") return found;
    // Missing from the list, an older payment may be settled.
    const isOld = context.now.getTime() - createdAt(payment.reconciliationId) > LISTED_MS;
    return isOld ? { kind: "unknown", codes: { rawCode: "no_longer_listed" } } : { kind: "absent" };
  }
  const answer = await ask(context, requests.details(found));
  const transaction = transactionIn(answer);
  if (transaction === undefined) {
    if (answer.kind === "refused" && answer.code === "E00040") return { kind: "absent" };
    return { kind: "unknown", codes: answer.kind === "ok" ? { rawCode: "unreadable_answer" } : answer.codes };
  }
  return { kind: "found", standing: standingOf(transaction, found, payment.money.currency) };
}

/** What `getTransactionDetailsRequest` was answered with. */
export function transactionIn(answer: Answer): JsonObject | undefined {
  return answer.kind === "ok" ? objectAt(answer.body, "transaction") : undefined;
}

/**
 * The id of the transaction that carries our reference as its invoice number: one that was not refused, or with
 * `refusedToo` a refused one where there is no other.
 */
export async function findUnsettled(
  requests: AuthorizenetRequests,
  context: ConnectorContext,
  reference: string,
  refusedToo: boolean,
): Promise<string | Unknown | { readonly kind: "absent" }> {
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const answer = await ask(context, requests.unsettled(page));
    if (answer.kind !== "ok") return { kind: "unknown", codes: answer.codes };
    const listed = listAt(answer.body, "transactions");
    const found = listed.filter((each) => textAt(each, "invoiceNumber") === invoiceOf(reference));
    const isRefused = (each: (typeof found)[number]) =>
      ["declined", "generalError", "communicationError"].includes(textAt(each, "transactionStatus") ?? "");
    const id = textAt(found.find((each) => !isRefused(each)) ?? (refusedToo ? found[0] : undefined), "transId");
    if (id !== undefined) return id;
    if (listed.length < PAGE) return { kind: "absent" };
  }
  return { kind: "unknown", codes: { rawCode: "too_many_payments" } };
}

/** Our ids begin with the milliseconds of their making (UUID version 7). */
function createdAt(reconciliationId: string): number {
  return fromBase62(reconciliationId, 16)?.readUIntBE(0, 6) ?? 0;
}
