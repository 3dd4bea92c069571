import { findProvider } from "../connections/providers.js";
import type { FormulaId } from "../contract/formula.js";
import type { LookUpOutcome } from "../contract/outcome.js";
import type { Attempt, Payment } from "../lifecycle/payment.js";

/**
 * Whether to send a request again whose end is unknown, after a look-up of its payment (decision 0023). Only if it was
 * never sent, if the look-up shows that the service does not have it, or if the service would detect the repetition. The
 * caller checks that it is the same account.
 * @param payment after `applyLookUp`, which ends a request that the look-up found.
 */
export function shouldResend({ attempt, status, connection }: Payment, found: LookUpOutcome, now: number): boolean {
  if (!attempt || attempt.state === "accepted" || found.kind === "unknown") return false;
  const isSafe = attempt.account === undefined || detectsRepetition(attempt, connection.formulaId, now);
  switch (attempt.operation) {
    case "authorize":
      return found.kind === "absent" || (found.kind === "unsupported" && isSafe);
    case "refund":
      if (status !== "capture_succeeded" || found.kind === "absent") return false;
      // With a list of refunds, ours does not exist: it would have ended by now. Without one it may exist.
      return (found.kind === "found" && found.refunds !== undefined) || isSafe;
    default:
      return found.kind === "unsupported" ? isSafe : found.kind === "found" && found.state.kind === "authorized";
  }
}

/** Whether the service still detects a resent attempt as a repetition. Later it could execute it a second time. */
function detectsRepetition({ since }: Attempt, formulaId: FormulaId, now: number): boolean {
  return now - since < findProvider(formulaId).detectsRepeatsForMs;
}
