import type { ErrorCode } from "./error-code.js";
import type { FormulaId } from "./formulas.js";
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

const HOUR_MS = 3_600_000;

/**
 * How long the same request may be sent again to a service that does not say whether it has it: an hour less than the
 * service knows a repetition for one (orchestration.md 2.6). Stripe keeps keys for 24 hours at least, Adyen for 7 days.
 * Checkout.com keeps those of successes alone, so that a request whose answer was an error would be done once more.
 * Authorize.net has no keys: whenever a refund is sent there, it is looked for by our own reference first, and not sent
 * where the lists cannot tell. The simulator's books forget nothing.
 */
const RESENT_FOR_MS: Readonly<Record<FormulaId, number>> = {
  "simulator-card": Number.POSITIVE_INFINITY,
  "stripe-card": 23 * HOUR_MS,
  "adyen-card": (7 * 24 - 1) * HOUR_MS,
  "checkoutcom-card": 0,
  "authorizenet-card": Number.POSITIVE_INFINITY,
};

/** Whether the service still knows an attempt that is sent again for the same. Later, it could be done a second time. */
export function isKnownAgain({ since }: Pick<Attempt, "since">, formulaId: FormulaId, now: number): boolean {
  return now - since < RESENT_FOR_MS[formulaId];
}
