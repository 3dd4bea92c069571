import type { WebhookEvent } from "../contract/webhook.js";
import { applyFollowUp, applyState, unmoved } from "./apply-outcome.js";
import { matchesPendingOperation } from "./ended-operations.js";
import type { Payment } from "./payment.js";
import type { Refund } from "./refund.js";
import { applyRefund, refundNamed, withAnotherLookUp } from "./refund-reports.js";
import type { Change } from "./tenant-payments.js";

/** A report that is complete in the webhook itself and needs no look-up. */
export type CompleteReport = Exclude<WebhookEvent["report"], { kind: "changed" }>;

/** A capture or void ends only if the report matches the one under way; a refund ends if the report names it. */
export function applyReport(current: Payment, report: CompleteReport, now: number, refunds: readonly Refund[]): Change {
  const { attempt } = current;
  switch (report.kind) {
    case "payment":
      return applyState(current, report.state, now);
    case "capture":
    case "void": {
      const { kind: operation, outcome, providerId } = report;
      // An attempt that has not been sent cannot have been refused.
      const isPlanned = attempt?.state === "sent" && attempt.account === undefined && outcome.kind === "refused";
      const isUnderWay = attempt?.operation === operation && !isPlanned && matchesPendingOperation(current, providerId);
      const amount = isUnderWay ? attempt.amount : current.authorizedAmount;
      const key = isUnderWay ? attempt.key : undefined;
      return applyFollowUp(current, { operation, amount, key, providerId }, outcome, now);
    }
    case "refund": {
      const refund = refundNamed(refunds, report);
      if (!refund) return unmoved(current);
      return withAnotherLookUp(current, applyRefund(current, refund, report.outcome, now), now);
    }
  }
}
