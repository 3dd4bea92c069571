import type { AmountRules } from "../../contract/amount.js";

/** Where Checkout.com counts differently from ISO 4217 (its table of currency codes). */
export const CHECKOUTCOM_AMOUNTS: AmountRules = {
  CLP: { exponent: 2, multipleOf: 100 },
};
