import type { AuthorizationOutcome, FollowUpOutcome, PaymentState } from "../../../src/payments/contract/outcome.js";
import type { AuthorizationRequest, PaymentReference } from "../../../src/payments/contract/payment-request.js";
import type { WebhookEvent } from "../../../src/payments/contract/webhook.js";
import { type Bench, contextOf } from "./bench.js";

const ROUNDS = 5;

/** Completes an authorization as reconciliation does: deliver webhooks, look up, and only then send again. */
export async function settle(bench: Bench, request: AuthorizationRequest): Promise<PaymentState> {
  const { connector } = bench;
  const { reconciliationId, money, intent } = request;
  let outcome: AuthorizationOutcome = await connector.authorize(contextOf(bench), request);
  for (let round = 0; round < ROUNDS; round += 1) {
    if (!isOpen(outcome)) return outcome;
    const told = events(bench, reconciliationId, outcome).findLast(({ report }) => report.kind === "payment");
    if (told?.report.kind === "payment") {
      outcome = told.report.state;
      continue;
    }
    const providerId = "providerId" in outcome ? outcome.providerId : undefined;
    const found = await connector.lookUp(contextOf(bench), { reconciliationId, providerId, money, intent });
    if (found.kind === "found") outcome = found.state;
    else if (outcome.kind === "unknown") outcome = await connector.authorize(contextOf(bench), request);
    const capture = events(bench, reconciliationId, outcome).findLast(({ report }) => report.kind === "capture");
    if (outcome.kind === "capturing" && capture?.report.kind === "capture" && capture.report.outcome.kind === "done") {
      const { providerId: id, authorizedAmount, codes } = outcome;
      outcome = { kind: "captured", providerId: id, amount: authorizedAmount, codes };
    }
  }
  if (isOpen(outcome)) throw new Error(`still ${outcome.kind} after ${ROUNDS} rounds`);
  return outcome;
}

function isOpen(
  outcome: AuthorizationOutcome,
): outcome is Extract<AuthorizationOutcome, { kind: "unknown" | "processing" | "capturing" }> {
  return outcome.kind === "unknown" || outcome.kind === "processing" || outcome.kind === "capturing";
}

type Operation = "capture" | "void" | "refund";
type Payment = PaymentReference & { readonly providerId: string };

/** Completes a capture, void or refund: send, deliver webhooks, look up, send again with the same key. */
export async function settleFollowUp(
  bench: Bench,
  operation: Operation,
  payment: Payment,
  amount = payment.money.amount,
): Promise<FollowUpOutcome> {
  const money = { amount, currency: payment.money.currency };
  const keyed = { payment, idempotencyKey: `${payment.reconciliationId}-${operation}-1` };
  const reference = `${payment.reconciliationId.slice(0, 18)}rfd1`;
  const send = (): Promise<FollowUpOutcome> => {
    switch (operation) {
      case "capture":
        return bench.connector.capture(contextOf(bench), { ...keyed, money });
      case "void":
        return bench.connector.void(contextOf(bench), keyed);
      case "refund":
        return bench.connector.refund(contextOf(bench), { ...keyed, reference, money, reason: undefined });
    }
  };
  let outcome = await send();
  for (let round = 0; round < ROUNDS; round += 1) {
    if (outcome.kind !== "unknown" && outcome.kind !== "accepted") return outcome;
    const report = events(bench, payment.reconciliationId, payment).findLast(
      ({ report: { kind } }) => kind === operation,
    )?.report;
    if (report?.kind === operation && "outcome" in report) {
      outcome = report.outcome;
      continue;
    }
    const found = await lookedUp(bench, operation, payment, reference);
    if (found) outcome = found;
    else if (outcome.kind === "unknown") outcome = await send();
  }
  throw new Error(`still ${outcome.kind} after ${ROUNDS} rounds`);
}

async function lookedUp(
  bench: Bench,
  operation: Operation,
  payment: Payment,
  reference: string,
): Promise<FollowUpOutcome | undefined> {
  const found = await bench.connector.lookUp(contextOf(bench), payment);
  if (found.kind !== "found") return undefined;
  const { state, refunds } = found;
  if (operation === "refund") {
    const refund = refunds?.find((each) => each.reference === reference);
    return refund?.outcome.kind === "done" ? refund.outcome : undefined;
  }
  if (operation === "capture" && state.kind === "captured") {
    return { kind: "done", amount: state.amount, codes: state.codes };
  }
  return operation === "void" && state.kind === "voided" ? { kind: "done", codes: state.codes } : undefined;
}

/** The contents of due webhooks about this payment. */
function events(bench: Bench, reconciliationId: string, known: object): WebhookEvent[] {
  const providerId = "providerId" in known ? known.providerId : undefined;
  const context = contextOf(bench);
  return bench.webhooks().flatMap((delivery) => {
    const reading = bench.connector.readWebhook(context, delivery);
    if (reading.kind !== "verified") throw new Error(`a webhook of the service was ${reading.kind}`);
    return reading.events.filter(
      ({ payment }) =>
        payment.reconciliationId === reconciliationId ||
        (providerId !== undefined && payment.providerId === providerId),
    );
  });
}
