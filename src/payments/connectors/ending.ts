import { type ErrorCode, isDecline } from "../error-code.js";
import type { FollowUpOutcome, PaymentStanding, ProviderCodes, ThreeDSOutcome } from "../outcome.js";

/** What is known of a refusal beside its reason. */
export interface RefusalDetail {
  readonly codes: ProviderCodes;
  readonly providerId?: string | undefined;
  readonly threeDS?: ThreeDSOutcome | undefined;
}

/** The end of an authorization that did not succeed: declined or failed, as its code says. */
export function ended(errorCode: ErrorCode, detail: RefusalDetail): PaymentStanding {
  return { kind: isDecline(errorCode) ? "declined" : "failed", errorCode, ...detail };
}

/** The end of a capture, void or refund that did not succeed: declined or failed, as its code says. */
export function refused(errorCode: ErrorCode, codes: ProviderCodes): FollowUpOutcome {
  return { kind: "refused", as: isDecline(errorCode) ? "declined" : "failed", errorCode, codes };
}

/** What the service cannot express exactly is refused before any call. */
export const INEXPRESSIBLE: ProviderCodes = { rawDescription: "The payment service cannot express this amount." };
