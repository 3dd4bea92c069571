import { createSecretKey } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { Sensitive } from "../../../src/crypto/sensitive.js";
import { FORMULAS } from "../../../src/payments/connections/providers.js";
import {
  accountFingerprint,
  cardFingerprint,
  isOfAccount,
  trustedLookUp,
  withAccountFound,
  withAccountSentTo,
} from "../../../src/payments/lifecycle/account-fingerprint.js";
import { anAttempt, aPayment } from "../sample-payment.js";

const keys = { fingerprint: createSecretKey(Buffer.alloc(32, 1)) };
const elsewhere = { fingerprint: createSecretKey(Buffer.alloc(32, 2)) };

/** Fields that may change within an account: all others may select another one. */
const CHANGEABLE: Readonly<Record<string, readonly string[]>> = {
  "simulator-card": ["verify_result", "latency_ms", "approval_ttl_s", "async_capture", "webhook_secret"],
  "stripe-card": ["webhook_secret", "network_transaction_id_enabled"],
  "adyen-card": ["api_key", "hmac_key"],
  "checkoutcom-card": ["public_key", "signature_key"],
  "authorizenet-card": ["transaction_key", "signature_key"],
};

describe.each(FORMULAS.map((formula) => [formula.id, formula] as const))("the account of %s", (id, formula) => {
  const values = formula.fields.map(({ key }): [string, string] => [key, `${key}-1`]);
  const markOf = (given: readonly (readonly [string, string])[]) =>
    accountFingerprint(keys, { formula, fields: new Map(given.map(([key, value]) => [key, new Sensitive(value)])) });

  it.each(values)("is identified by %s if that selects it", (changed) => {
    const others = values.map(([key, value]) => [key, key === changed ? "another" : value] as const);
    const isSame = CHANGEABLE[id]?.includes(changed) === true;
    expect(markOf(others) === markOf(values)).toBe(isSame);
    expect(markOf(values.filter(([key]) => key !== changed)) === markOf(values)).toBe(isSame);
  });

  it("is identified by a hash under the tenant's key, in any order of the fields", () => {
    expect(markOf([...values].reverse())).toBe(markOf(values));
    expect(markOf(values)).not.toContain("-1");
    const fields = new Map(values.map(([key, value]) => [key, new Sensitive(value)]));
    expect(accountFingerprint(elsewhere, { formula, fields })).not.toBe(markOf(values));
  });
});

describe.each([
  ["adyen-card", { merchant_account: "shop" }, "test", "live"],
  ["adyen-card", { merchant_account: "shop", live_endpoint_prefix: "1797-Shop" }, "live", "test"],
  ["checkoutcom-card", { secret_key: "an older key" }, "test", "live"],
  ["authorizenet-card", { merchant_account_id: "shop" }, "test", "live"],
] as const)("the account of %s with %o", (id, values, usual, other) => {
  const formula = FORMULAS.find((known) => known.id === id);
  const markOf = (more: Readonly<Record<string, string>>) => {
    if (!formula) throw new Error("no such formula");
    const fields = Object.entries({ ...values, ...more }).map(([key, value]) => [key, new Sensitive(value)] as const);
    return accountFingerprint(keys, { formula, fields: new Map(fields) });
  };

  it(`is the same if its mode is set to the default ${usual}, and another in ${other}`, () => {
    expect(markOf({ mode: usual })).toBe(markOf({}));
    expect(markOf({ mode: other })).not.toBe(markOf({}));
  });
});

test.each([
  ["sandbox", "sk_sbox_abcdefghijklmnopqrstuvwxyz2"],
  ["live", "sk_abcdefghijklmnopqrstuvwxyz2"],
])("a key of Checkout.com that is a %s one decides the mode, whatever is configured", (_name, key) => {
  const formula = FORMULAS.find(({ id }) => id === "checkoutcom-card");
  if (!formula) throw new Error("no such formula");
  const marks = [undefined, "test", "live"].map((mode) => {
    const fields = { secret_key: key, ...(mode === undefined ? {} : { mode }) };
    return accountFingerprint(keys, {
      formula,
      fields: new Map(Object.entries(fields).map(([name, value]) => [name, new Sensitive(value)])),
    });
  });
  expect(new Set(marks).size).toBe(1);
});

test("a card is identified by number and expiry, under the tenant's key", () => {
  const card = { number: "4242424242424242", expirationMonth: 3, expirationYear: 2030, cvc: "123" };
  const marks = [
    cardFingerprint(keys, card),
    cardFingerprint(elsewhere, card),
    ...[{ number: "4111111111111111" }, { expirationMonth: 4 }, { expirationYear: 2031 }].map((more) =>
      cardFingerprint(keys, { ...card, ...more }),
    ),
  ];
  expect(new Set(marks).size).toBe(marks.length);
  expect(cardFingerprint(keys, { ...card, cvc: undefined })).toBe(marks[0]);
});

test("the prefix of Adyen's live address has no effect in test", () => {
  const formula = FORMULAS.find(({ id }) => id === "adyen-card");
  if (!formula) throw new Error("no such formula");
  const marks = [{}, { mode: "test" }, { mode: "test", live_endpoint_prefix: "1797-Shop" }].map((more) => {
    const fields = Object.entries({ merchant_account: "shop", ...more });
    return accountFingerprint(keys, {
      formula,
      fields: new Map(fields.map(([key, value]) => [key, new Sensitive(value)])),
    });
  });
  expect(new Set(marks).size).toBe(1);
});

describe("a payment of one account", () => {
  const attempt = anAttempt("capture", { state: "unknown", account: "one" });
  const payment = aPayment({ account: "one", attempt });

  it("is found or missing by its own account's response, and only found by others'", () => {
    const found = { kind: "found", state: { kind: "voiding", providerId: "pi_1", codes: {} } } as const;
    for (const outcome of [found, { kind: "absent" }, { kind: "unsupported" }] as const) {
      expect(trustedLookUp(payment, "one", outcome)).toBe(outcome);
      if (outcome.kind !== "found") expect(trustedLookUp(payment, "two", outcome).kind).toBe("unknown");
    }
    expect(trustedLookUp(payment, "two", found)).toBe(found);
  });

  it("belongs to the other account too once it is found there, and its operation to where it was sent", () => {
    expect(isOfAccount(payment, "two")).toBe(false);
    expect(isOfAccount(withAccountFound(payment, "two"), "two")).toBe(true);
    expect(isOfAccount(withAccountSentTo(payment, "two"), "two")).toBe(true);
    expect(isOfAccount({ ...withAccountSentTo(payment, "two"), attempt: undefined }, "two")).toBe(false);
    expect(isOfAccount(aPayment({ account: "one", attempt: anAttempt("void") }), "two")).toBe(false);
  });
});
