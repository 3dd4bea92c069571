import type { ErrorCode } from "./error-code.js";
import type { FormulaId } from "./formulas.js";
import type { AuthorizationOutcome, FollowUpOutcome } from "./outcome.js";
import type { Attempt } from "./payment.js";

/** The service did not execute this request. That says nothing about an earlier sending, whose end is unknown. */
const NOT_LOOKED_AT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
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
export function meant<T extends AuthorizationOutcome | FollowUpOutcome>(
  { state }: Pick<Attempt, "state">,
  outcome: T,
): T | Extract<AuthorizationOutcome, { kind: "unknown" }> {
  if (state === "sent" || (outcome.kind !== "failed" && outcome.kind !== "refused")) return outcome;
  return NOT_LOOKED_AT.has(outcome.errorCode) ? { kind: "unknown", codes: outcome.codes } : outcome;
}

const HOUR_MS = 3_600_000;

/**
 * How long a request may be resent to a service that does not show whether it has it: an hour less than the service
 * detects repetitions (orchestration.md 2.6). Stripe keeps keys for at least 24 hours, Adyen for 7 days. Checkout.com
 * keeps only keys of successes, so a request that was answered with an error would be executed again. Authorize.net has
 * no keys: a refund is first looked up by our reference, and is not sent if the lists are inconclusive. The simulator's
 * books keep everything.
 */
const RESENT_FOR_MS: Readonly<Record<FormulaId, number>> = {
  "simulator-card": Number.POSITIVE_INFINITY,
  "stripe-card": 23 * HOUR_MS,
  "adyen-card": (7 * 24 - 1) * HOUR_MS,
  "checkoutcom-card": 0,
  "authorizenet-card": Number.POSITIVE_INFINITY,
};

/** Whether the service still detects a resent attempt as a repetition. Later it could execute it a second time. */
export function isKnownAgain({ since }: Pick<Attempt, "since">, formulaId: FormulaId, now: number): boolean {
  return now - since < RESENT_FOR_MS[formulaId];
}
