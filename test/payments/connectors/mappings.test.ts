import { describe, expect, test } from "vitest";
import { newTenantId } from "../../../src/base/ids.js";
import type { JsonObject } from "../../../src/base/json.js";
import { Sensitive } from "../../../src/crypto/sensitive.js";
import { adyenAddress } from "../../../src/payments/connectors/adyen/address.js";
import { ADYEN_AMOUNTS } from "../../../src/payments/connectors/adyen/amounts.js";
import { readPaymentState as adyenState } from "../../../src/payments/connectors/adyen/payment-state.js";
import { checkoutcomAddress } from "../../../src/payments/connectors/checkoutcom/address.js";
import { CHECKOUTCOM_AMOUNTS } from "../../../src/payments/connectors/checkoutcom/amounts.js";
import { readPaymentState as checkoutState } from "../../../src/payments/connectors/checkoutcom/payment-state.js";
import { STRIPE_AMOUNTS } from "../../../src/payments/connectors/stripe/amounts.js";
import { readPaymentState as stripeState } from "../../../src/payments/connectors/stripe/payment-state.js";
import { fromProviderAmount, toProviderAmount } from "../../../src/payments/contract/amount.js";
import type { ConnectorContext } from "../../../src/payments/contract/connector.js";

/** Each row: the caller's amount, the currency, and what each service receives; undefined: rejected. */
type Sent = number | undefined;
const AMOUNTS: [amount: number, currency: string, stripe: Sent, adyen: Sent, checkout: Sent][] = [
  // amount, currency, Stripe, Adyen, Checkout.com
  [1234, "EUR", 1234, 1234, 1234],
  [500, "JPY", 500, 500, 500],
  [500, "CLP", 500, 50_000, 50_000],
  [500, "ISK", 50_000, 50_000, 500],
  [500, "UGX", 50_000, 500, 500],
  [1200, "MGA", 12, 1200, 1200],
  [1234, "MGA", undefined, 1234, 1234],
  [1200, "IDR", 1200, 12, 1200],
  [1234, "IDR", 1234, undefined, 1234],
  [1234, "CVE", 1234, undefined, 1234],
  [12_340, "KWD", 12_340, 12_340, 12_340],
  [12_345, "KWD", undefined, 12_345, 12_345],
  [1234, "XXX", undefined, undefined, undefined],
];

test.each(AMOUNTS)("%i %s is sent exactly, or not at all", (amount, currency, ...wanted) => {
  for (const [index, rules] of [STRIPE_AMOUNTS, ADYEN_AMOUNTS, CHECKOUTCOM_AMOUNTS].entries()) {
    const sent = toProviderAmount(rules, { amount, currency });
    expect(sent).toBe(wanted[index]);
    if (sent !== undefined) expect(fromProviderAmount(rules, { amount: sent, currency })).toBe(amount);
  }
});

const INTENT = { id: "pi_1", amount: 1234, currency: "eur", latest_charge: null };
const ERROR = { type: "card_error", code: "card_declined", decline_code: "stolen_card" };

describe("Stripe's statuses", () => {
  test.each<[JsonObject, "authorize" | "capture", object]>([
    [{ status: "requires_capture", amount_capturable: 1234 }, "authorize", { kind: "authorized", amount: 1234 }],
    [
      { status: "succeeded", amount_received: 1000 },
      "authorize",
      { kind: "captured", amount: 1000, authorizedAmount: 1234 },
    ],
    [{ status: "processing" }, "capture", { kind: "capturing", authorizedAmount: 1234 }],
    [{ status: "processing" }, "authorize", { kind: "processing" }],
    [
      { status: "requires_action", next_action: { type: "use_stripe_sdk" } },
      "authorize",
      { kind: "failed", errorCode: "invalid_operation" },
    ],
    [{ status: "requires_confirmation" }, "authorize", { kind: "failed", errorCode: "unexpected_state" }],
    [
      { status: "requires_payment_method", last_payment_error: ERROR },
      "authorize",
      { kind: "declined", errorCode: "canceled_payment_method" },
    ],
    [{ status: "canceled" }, "authorize", { kind: "failed", errorCode: "canceled" }],
    [
      { status: "canceled", latest_charge: "ch_1", cancellation_reason: "automatic" },
      "authorize",
      { kind: "voided", expired: true },
    ],
    [
      { status: "canceled", latest_charge: "ch_1", cancellation_reason: "requested_by_customer" },
      "authorize",
      { kind: "voided", expired: false },
    ],
    [{ status: "a_word_of_next_year" }, "authorize", { kind: "processing" }],
  ])("%j for %s", (body, intent, state) => {
    expect(stripeState({ ...INTENT, ...body }, intent)).toMatchObject(state);
  });
});

describe("Adyen's result codes", () => {
  test.each<[JsonObject, "authorize" | "capture", object]>([
    [{ resultCode: "Authorised" }, "authorize", { kind: "authorized", amount: 1234 }],
    [{ resultCode: "Authorised" }, "capture", { kind: "captured", amount: 1234 }],
    [
      { resultCode: "PartiallyAuthorised", amount: { value: 600, currency: "EUR" } },
      "authorize",
      { kind: "authorized", amount: 600 },
    ],
    [{ resultCode: "PartiallyAuthorised" }, "authorize", { kind: "processing" }],
    [{ resultCode: "Refused", refusalReasonCode: "24" }, "authorize", { kind: "declined", errorCode: "incorrect_cvv" }],
    [
      { resultCode: "Refused", refusalReasonCode: "999" },
      "authorize",
      { kind: "declined", errorCode: "other_decline" },
    ],
    [{ resultCode: "Error", refusalReasonCode: "4" }, "authorize", { kind: "failed", errorCode: "service_error" }],
    [{ resultCode: "Cancelled" }, "authorize", { kind: "declined", errorCode: "service_decline" }],
    [
      { resultCode: "RedirectShopper", action: { type: "redirect", method: "POST", url: "https://x.example" } },
      "authorize",
      { kind: "failed" },
    ],
    [
      { resultCode: "ChallengeShopper", action: { type: "threeDS2" } },
      "authorize",
      { kind: "failed", errorCode: "invalid_operation" },
    ],
    [{ resultCode: "Pending" }, "authorize", { kind: "processing" }],
    [{ resultCode: "Received" }, "authorize", { kind: "processing" }],
    [{ resultCode: "PresentToShopper" }, "authorize", { kind: "processing" }],
    [{ resultCode: "NextYearsWord" }, "authorize", { kind: "processing" }],
  ])("%j for %s", (body, intent, state) => {
    const asked = { intent, money: { amount: 1234, currency: "EUR" }, isAfterApproval: false };
    expect(adyenState({ pspReference: "psp", ...body }, asked)).toMatchObject(state);
  });
});

describe("Checkout.com's statuses", () => {
  const balances = { total_authorized: 1234, total_captured: 1000, total_refunded: 10 };
  test.each<[JsonObject, "authorize" | "capture", object]>([
    [{ status: "Authorized" }, "authorize", { kind: "authorized", amount: 1234 }],
    [{ status: "Authorized" }, "capture", { kind: "capturing", authorizedAmount: 1234 }],
    [{ status: "Captured" }, "capture", { kind: "captured", amount: 1234 }],
    [
      { status: "Partially Captured", balances },
      "authorize",
      { kind: "captured", amount: 1000, authorizedAmount: 1234 },
    ],
    [{ status: "Partially Refunded", balances }, "authorize", { kind: "captured", amount: 1000, refundedAmount: 10 }],
    [{ status: "Pending" }, "authorize", { kind: "processing" }],
    [{ status: "Retry Scheduled" }, "authorize", { kind: "processing" }],
    [{ status: "Card Verified", amount: 0 }, "authorize", { kind: "authorized", amount: 0 }],
    [
      { status: "Declined", response_code: "20051" },
      "authorize",
      { kind: "declined", errorCode: "insufficient_funds", codes: { authResponseCode: "51" } },
    ],
    [{ response_code: "20068" }, "authorize", { kind: "failed", errorCode: "service_error" }],
    [{ status: "Expired" }, "authorize", { kind: "failed", errorCode: "incomplete_buyer_approval" }],
    [{ status: "Expired", balances }, "authorize", { kind: "voided", expired: true }],
    [{ status: "Voided" }, "authorize", { kind: "voided", expired: false }],
    [{ status: "Canceled" }, "authorize", { kind: "failed", errorCode: "canceled" }],
    [{ status: "Next Year's Word" }, "authorize", { kind: "processing" }],
    [{ status: "Authorized", source: { cvv_check: "N" } }, "authorize", { codes: { cvv: "not_provided" } }],
    [{ status: "Authorized", source: { cvv_check: "D" } }, "authorize", { codes: { cvv: "no_match" } }],
  ])("%j for %s", (body, intent, state) => {
    expect(checkoutState({ id: "pay_1", amount: 1234, currency: "EUR", ...body }, intent)).toMatchObject(state);
  });
});

function context(fields: Readonly<Record<string, string>>): ConnectorContext {
  return {
    tenantId: newTenantId(),
    fields: new Map(Object.entries(fields).map(([key, value]) => [key, new Sensitive(value)])),
    send: async () => ({ kind: "never_sent", reason: "test" }),
    now: new Date(),
  };
}

const EVIL = ["evil.example/", "a.b", "a@evil.example", "a#", "a?", "", "-a", "a:80", "é", `${"a".repeat(64)}`];

test("Adyen's live address comes from the prefix, and cannot name another host", () => {
  expect(adyenAddress(context({}), undefined)).toBe("https://checkout-test.adyen.com/v71");
  expect(adyenAddress(context({ live_endpoint_prefix: "1797a841fbb37ca7-AdyenDemo" }), undefined)).toBe(
    "https://1797a841fbb37ca7-AdyenDemo-checkout-live.adyenpayments.com/checkout/v71",
  );
  expect(adyenAddress(context({ mode: "live" }), undefined)).toBeUndefined();
  for (const prefix of EVIL) {
    expect(adyenAddress(context({ mode: "live", live_endpoint_prefix: prefix }), undefined)).toBeUndefined();
  }
});

test("Checkout.com's address depends on the key, then the mode, and accepts a prefix that is a label", () => {
  const live = { secret_key: "sk_abcdefghijklmnopqrstuvwxyz2" };
  const sandbox = { secret_key: "sk_sbox_abcdefghijklmnopqrstuvwxyz2" };
  expect(checkoutcomAddress(context(live), undefined)).toBe("https://api.checkout.com");
  expect(checkoutcomAddress(context({ ...sandbox, mode: "live" }), undefined)).toBe("https://api.sandbox.checkout.com");
  expect(checkoutcomAddress(context({ secret_key: "other", mode: "live" }), undefined)).toBe(
    "https://api.checkout.com",
  );
  expect(checkoutcomAddress(context({ ...live, api_prefix: "a1b2c3d4" }), undefined)).toBe(
    "https://a1b2c3d4.api.checkout.com",
  );
  for (const api_prefix of EVIL) {
    expect(checkoutcomAddress(context({ ...live, api_prefix }), undefined)).toBeUndefined();
  }
});
