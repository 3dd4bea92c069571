import { type ErrorCode, isDecline } from "../error-code.js";
import type { FollowUpOutcome, PaymentState, ProviderCodes, ThreeDSOutcome } from "../outcome.js";

/** Details of a refusal besides its reason. */
export interface RefusalDetail {
  readonly codes: ProviderCodes;
  readonly providerId?: string | undefined;
  readonly threeDS?: ThreeDSOutcome | undefined;
}

/** The end of an authorization that did not succeed: declined or failed, depending on its code. */
export function ended(errorCode: ErrorCode, detail: RefusalDetail): PaymentState {
  return { kind: isDecline(errorCode) ? "declined" : "failed", errorCode, ...detail };
}

/** The end of a capture, void or refund that did not succeed: declined or failed, depending on its code. */
export function refused(errorCode: ErrorCode, codes: ProviderCodes): FollowUpOutcome {
  return { kind: "refused", as: isDecline(errorCode) ? "declined" : "failed", errorCode, codes };
}

/** An amount that the service cannot express exactly is refused before any call. */
export const INEXPRESSIBLE: ProviderCodes = { rawDescription: "The payment service cannot express this amount." };
