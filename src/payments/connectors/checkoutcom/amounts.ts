import type { AmountRules } from "../../amount.js";

/** Where Checkout.com counts differently from ISO 4217 (its currency table; orchestration.md 3.2). */
export const CHECKOUTCOM_AMOUNTS: AmountRules = {
  CLP: { exponent: 2, multipleOf: 100 },
};
