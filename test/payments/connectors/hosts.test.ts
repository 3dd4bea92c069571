import { expect, it } from "vitest";
import { Sensitive } from "../../../src/crypto/sensitive.js";
import { realConnectors } from "../../../src/payments/connections/providers.js";
import type { FormulaId } from "../../../src/payments/contract/formula.js";

const ADDRESSES = new Map<FormulaId, string>([["adyen-card", "http://payments.example:8080"]]);

function hostOf(id: FormulaId, given: Readonly<Record<string, string>>, addresses = new Map<FormulaId, string>()) {
  const connector = realConnectors(addresses).find(({ formulaId }) => formulaId === id);
  return connector?.hostOf({
    fields: new Map(Object.entries(given).map(([key, value]) => [key, new Sensitive(value)])),
  });
}

it.each<[FormulaId, Readonly<Record<string, string>>, string | undefined]>([
  ["stripe-card", {}, "api.stripe.com"],
  ["adyen-card", {}, "checkout-test.adyen.com"],
  ["adyen-card", { live_endpoint_prefix: "1797-shop" }, "1797-shop-checkout-live.adyenpayments.com"],
  ["adyen-card", { live_endpoint_prefix: "evil.example/" }, undefined],
  ["checkoutcom-card", { secret_key: "sk_sbox_1" }, "api.sandbox.checkout.com"],
  ["checkoutcom-card", { mode: "live", api_prefix: "shop1" }, "shop1.api.checkout.com"],
  ["checkoutcom-card", { api_prefix: "evil.example#" }, undefined],
  ["authorizenet-card", { mode: "live" }, "api.authorize.net"],
  ["authorizenet-card", { mode: "test" }, "apitest.authorize.net"],
])("log rows name the host of %s with %j as %s", (id, fields, host) => {
  expect(hostOf(id, fields)).toBe(host);
});

it("log rows name the host that the operator configured", () => {
  expect(hostOf("adyen-card", { mode: "live" }, ADDRESSES)).toBe("payments.example");
});
