import type { ErrorCode } from "../contract/error-code.js";
import type { AuthorizationOutcome, FollowUpOutcome } from "../contract/outcome.js";
import type { Attempt } from "../lifecycle/payment.js";

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
 * What the service's response means for an attempt that may have been sent before. A refusal in response to the first
 * sending ends the attempt. In response to a repeat it does not: the first sending may have moved money.
 */
export function outcomeForAttempt<T extends AuthorizationOutcome | FollowUpOutcome>(
  { state }: Pick<Attempt, "state">,
  outcome: T,
): T | Extract<AuthorizationOutcome, { kind: "unknown" }> {
  if (state === "sent" || (outcome.kind !== "failed" && outcome.kind !== "refused")) return outcome;
  return NOT_EXECUTED.has(outcome.errorCode) ? { kind: "unknown", codes: outcome.codes } : outcome;
}
