import type { ErrorCode } from "./error-code.js";
import type { FormulaId } from "./formula.js";
import type { AuthorizationOutcome, FollowUpOutcome } from "./outcome.js";
import type { Attempt } from "./payment.js";
import { providerOf } from "./providers.js";

/** The service did not execute this request. That says nothing about an earlier sending, whose end is unknown. */
const NOT_EXECUTED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "insufficient_service_permissions",
  "invalid_service_configuration",
  "invalid_service_credentials",
  "service_network_error",
  "service_rate_limit",
  "service_resource_conflict",
]);

/**
 * What an answer means for an attempt that may have been sent before. An immediate refusal ends the first sending, but
 * not one after an unknown end, since money may have moved by then.
 */
export function reconcileResend<T extends AuthorizationOutcome | FollowUpOutcome>(
  { state }: Pick<Attempt, "state">,
  outcome: T,
): T | Extract<AuthorizationOutcome, { kind: "unknown" }> {
  if (state === "sent" || (outcome.kind !== "failed" && outcome.kind !== "refused")) return outcome;
  return NOT_EXECUTED.has(outcome.errorCode) ? { kind: "unknown", codes: outcome.codes } : outcome;
}

/** Whether the service still detects a resent attempt as a repetition. Later it could execute it a second time. */
export function detectsRepetition({ since }: Pick<Attempt, "since">, formulaId: FormulaId, now: number): boolean {
  return now - since < providerOf(formulaId).resendMs;
}
