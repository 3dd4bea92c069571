import type { FormulaId } from "./formula.js";
import type { LookUpOutcome } from "./outcome.js";
import type { Attempt, Payment } from "./payment.js";
import { providerOf } from "./providers.js";

/**
 * Whether to send a request again whose end is unknown, after a look-up of its payment (decision 0023). Only if the
 * look-up shows that the service does not have it, or if the service would detect the repetition.
 */
export function shouldResend({ attempt, status, connection }: Payment, found: LookUpOutcome, now: number): boolean {
  if (!attempt || attempt.state === "accepted" || found.kind === "unknown") return false;
  const isSafe = attempt.account === undefined || detectsRepetition(attempt, connection.formulaId, now);
  switch (attempt.operation) {
    case "authorize":
      return found.kind === "absent" || (found.kind === "unsupported" && isSafe);
    case "refund":
      if (status !== "capture_succeeded" || found.kind === "absent") return false;
      // A payment can have many refunds. A refund missing from the list does not exist; without a list it may exist.
      return (found.kind === "found" && found.refunds !== undefined) || isSafe;
    default:
      return found.kind === "unsupported" ? isSafe : found.kind === "found" && found.state.kind === "authorized";
  }
}

/** Whether the service still detects a resent attempt as a repetition. Later it could execute it a second time. */
function detectsRepetition({ since }: Attempt, formulaId: FormulaId, now: number): boolean {
  return now - since < providerOf(formulaId).resendMs;
}
