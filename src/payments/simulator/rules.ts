import type { Card } from "../contract/card.js";
import { type ErrorCode, isErrorCode } from "../contract/error-code.js";
import type { CvvCode } from "../contract/outcome.js";
import type { AuthorizationRequest } from "../contract/payment-request.js";

/** The simulated issuer's decision on an authorization. */
export type Verdict =
  | { readonly kind: "approve" }
  | { readonly kind: "decline" | "fail"; readonly errorCode: ErrorCode; readonly responseCode: string }
  | { readonly kind: "challenge"; readonly afterwards: "as_chosen" | "declined" }
  | { readonly kind: "frictionless" }
  | { readonly kind: "setup_error" };

export type ResponseFault = "none" | "lost" | "request_lost" | "status_500" | "malformed" | "late";

export interface LaterFault {
  readonly operation: "capture" | "void" | "refund";
  readonly errorCode: ErrorCode;
}

export interface Behaviour {
  readonly verdict: Verdict;
  readonly cvv: CvvCode;
  readonly responseFault: ResponseFault;
  readonly later: LaterFault | undefined;
  readonly approvesHalf: boolean;
  readonly asyncCapture: boolean;
  readonly asyncVoid: boolean;
  /** The buyer's approval takes effect only after the approval period. */
  readonly approvesLate: boolean;
  /** Its webhook is sent twice. */
  readonly isSentTwice: boolean;
}

const APPROVE: Verdict = { kind: "approve" };
const decline = (errorCode: ErrorCode, responseCode: string): Verdict => ({ kind: "decline", errorCode, responseCode });

/** Test numbers, most of them Stripe's published ones. All others are approved. */
const BY_NUMBER: ReadonlyMap<string, Verdict> = new Map([
  ["4000000000000002", decline("issuer_decline", "05")],
  ["4000000000009995", decline("insufficient_funds", "51")],
  ["4000000000009987", decline("canceled_payment_method", "41")],
  ["4000000000009979", decline("canceled_payment_method", "43")],
  ["4000000000000069", decline("expired_payment_method", "54")],
  ["4000000000000127", decline("incorrect_cvv", "N7")],
  ["4000000000000119", { kind: "fail", errorCode: "service_error", responseCode: "96" }],
  ["4000000000006975", decline("insufficient_funds", "61")],
  ["4100000000000019", decline("suspected_fraud", "59")],
  ["4000000000003220", { kind: "challenge", afterwards: "as_chosen" }],
  ["4000008400001629", { kind: "challenge", afterwards: "declined" }],
  ["4000000000003055", { kind: "frictionless" }],
  ["4000000000003097", { kind: "setup_error" }],
]);

/** Requires approval unless the payment is merchant-initiated or names an earlier transaction. */
const CHALLENGED_AT_FIRST = "4000002500003155";
const WRONG_CVC = new Set(["4000000000000127", "4000000000000101"]);
const CAPTURE_REFUSED = "4000000000000341";

/** The amounts of docs/payments.md, by the first of each group: each next amount plays the next code. */
const BY_AMOUNT: readonly (readonly [number, "decline" | "fail", string])[] = [
  [
    200001,
    "decline",
    `canceled_payment_method disputed_transaction duplicate_transaction expired_authorization expired_payment_method
    incorrect_billing_address incorrect_country incorrect_currency incorrect_cvv incorrect_expiry_date insufficient_funds
    issuer_decline other_decline requires_buyer_authentication refused_transaction service_decline suspected_fraud
    unavailable_payment_method unknown_payment_method unsupported_transaction unsupported_payment_method
    cancelled_buyer_approval`,
  ],
  [
    300001,
    "fail",
    `insufficient_service_permissions invalid_amount invalid_payment_method invalid_service_configuration
    invalid_service_credentials invalid_service_response invalid_tax_identifier missing_billing_address missing_cvv
    missing_shipping_address missing_tax_identifier refund_period_expired service_error service_network_error
    service_rate_limit`,
  ],
  [
    400001,
    "fail",
    `internal_error invalid_billing_address invalid_operation invalid_request_parameters invalid_service_request
    invalid_shipping_address service_resource_conflict unexpected_state unknown_error unknown_service_resource
    unsupported_country unsupported_currency unrecognised_country unrecognised_currency unrecognised_payment_method
    unrecognised_scheme unsupported_scheme`,
  ],
];

const VERDICT_BY_AMOUNT: ReadonlyMap<number, Verdict> = new Map(
  BY_AMOUNT.flatMap(([first, kind, codes]) =>
    codes.split(/\s+/).map((code, index): [number, Verdict] => {
      if (!isErrorCode(code)) throw new Error(`no such error code: ${code}`);
      return [first + index, { kind, errorCode: code, responseCode: kind === "decline" ? "05" : "96" }];
    }),
  ),
);

const LATER_BY_AMOUNT: ReadonlyMap<number, LaterFault> = new Map([
  [500001, { operation: "capture", errorCode: "service_network_error" }],
  [500002, { operation: "capture", errorCode: "refused_transaction" }],
  [510001, { operation: "void", errorCode: "service_network_error" }],
  [510002, { operation: "void", errorCode: "issuer_decline" }],
  [520001, { operation: "refund", errorCode: "disputed_transaction" }],
  [520002, { operation: "refund", errorCode: "issuer_decline" }],
  [520003, { operation: "refund", errorCode: "service_error" }],
  [520004, { operation: "refund", errorCode: "refund_already_satisfied" }],
]);

const RESPONSE_FAULT_BY_AMOUNT: ReadonlyMap<number, ResponseFault> = new Map([
  [600001, "lost"],
  [600002, "request_lost"],
  [600003, "status_500"],
  [600004, "malformed"],
  [600005, "late"],
]);

/** The simulator's behavior for an authorization: by the card, then by the amount. Default: approval. */
export function simulatedBehaviour(request: AuthorizationRequest): Behaviour {
  const card = request.card.reveal();
  const { amount } = request.money;
  const byCard = verdictOfCard(card, request);
  const verdict = byCard.kind === "approve" ? (VERDICT_BY_AMOUNT.get(amount) ?? byCard) : byCard;
  return {
    verdict: amount === 600010 ? { kind: "challenge", afterwards: "as_chosen" } : verdict,
    cvv: cvvOf(card),
    responseFault: RESPONSE_FAULT_BY_AMOUNT.get(amount) ?? "none",
    later:
      card.number === CAPTURE_REFUSED
        ? { operation: "capture", errorCode: "issuer_decline" }
        : LATER_BY_AMOUNT.get(amount),
    approvesHalf: amount === 600006,
    asyncCapture: amount === 600007,
    asyncVoid: amount === 600008,
    approvesLate: amount === 600010,
    isSentTwice: amount === 600009,
  };
}

function verdictOfCard({ number }: Card, request: AuthorizationRequest): Verdict {
  const isKnown = request.isMerchantInitiated || request.previousSchemeTransactionId !== undefined;
  if (number === CHALLENGED_AT_FIRST) return isKnown ? APPROVE : { kind: "challenge", afterwards: "as_chosen" };
  const verdict = BY_NUMBER.get(number) ?? APPROVE;
  // A cardholder already authenticated here is not challenged again.
  return request.threeDS && (verdict.kind === "challenge" || verdict.kind === "frictionless") ? APPROVE : verdict;
}

function cvvOf({ number, cvc }: Card): CvvCode {
  if (cvc === undefined) return "not_provided";
  if (cvc === "001" || WRONG_CVC.has(number)) return "no_match";
  return cvc === "002" ? "unavailable" : "match";
}
