import { type ErrorCode, isDecline } from "../contract/error-code.js";
import type {
  AuthorizationOutcome,
  FollowUpOutcome,
  PaymentState,
  ProviderCodes,
  ThreeDSOutcome,
  Unknown,
} from "../contract/outcome.js";

export interface RefusalDetail {
  readonly codes: ProviderCodes;
  readonly providerId?: string | undefined;
  readonly threeDS?: ThreeDSOutcome | undefined;
}

/** The end of an authorization that did not succeed: declined or failed, depending on its code. */
export function endedAuthorization(errorCode: ErrorCode, detail: RefusalDetail): PaymentState {
  return { kind: isDecline(errorCode) ? "declined" : "failed", errorCode, ...detail };
}

/** The end of a capture, void or refund that did not succeed: declined or failed, depending on its code. */
export function refusedOperation(errorCode: ErrorCode, codes: ProviderCodes): FollowUpOutcome {
  return { kind: "refused", as: isDecline(errorCode) ? "declined" : "failed", errorCode, codes };
}

export type Unanswered = { readonly kind: "never_sent"; readonly codes: ProviderCodes } | Unknown;

/** The end of an authorization without a response. Only what was never sent has certainly failed. */
export function unansweredAuthorization(result: Unanswered): AuthorizationOutcome {
  return result.kind === "never_sent" ? endedAuthorization("service_network_error", { codes: result.codes }) : result;
}

/** The end of a capture, void or refund without a response. Only what was never sent is certainly refused. */
export function unansweredOperation(result: Unanswered): FollowUpOutcome {
  return result.kind === "never_sent" ? refusedOperation("service_network_error", result.codes) : result;
}
