import type { ErrorCode } from "./error-code.js";
import type { AuthorizationOutcome, FollowUpOutcome } from "./outcome.js";
import type { Attempt } from "./payment.js";

/** The service did not look at the request. That says nothing of the same request sent before, whose end is unknown. */
const NOT_LOOKED_AT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "insufficient_service_permissions",
  "invalid_service_configuration",
  "invalid_service_credentials",
  "service_network_error",
  "service_rate_limit",
  "service_resource_conflict",
]);

/**
 * What an answer means for an attempt that may have been sent before: a refusal at the door ends the first sending of a
 * request, never one that follows an unknown end, since money may have moved by then.
 */
export function meant<T extends AuthorizationOutcome | FollowUpOutcome>(
  { state }: Pick<Attempt, "state">,
  outcome: T,
): T | Extract<AuthorizationOutcome, { kind: "unknown" }> {
  if (state === "sent" || (outcome.kind !== "failed" && outcome.kind !== "refused")) return outcome;
  return NOT_LOOKED_AT.has(outcome.errorCode) ? { kind: "unknown", codes: outcome.codes } : outcome;
}
