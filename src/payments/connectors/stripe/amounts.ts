import type { JsonObject } from "../../../base/json.js";
import { type AmountRules, type CurrencyRule, fromProviderAmount } from "../../contract/amount.js";
import { textAt, wholeAt } from "../read-json.js";

/** Counted in hundredths that must be zero, for compatibility with former subunits. */
const WHOLE_HUNDREDS: CurrencyRule = { exponent: 2, multipleOf: 100 };
/** The last of three decimals must be zero. */
const TENS: CurrencyRule = { multipleOf: 10 };

/** Where Stripe counts differently from ISO 4217 (docs.stripe.com/currencies). */
export const STRIPE_AMOUNTS: AmountRules = {
  BHD: TENS,
  ISK: WHOLE_HUNDREDS,
  JOD: TENS,
  KWD: TENS,
  MGA: { exponent: 0 },
  OMR: TENS,
  TND: TENS,
  UGX: WHOLE_HUNDREDS,
};

/** An amount in ISO 4217 minor units. The currency is in the object itself, or in `owner`. */
export function moneyAt(object: JsonObject | undefined, key: string, owner = object): number | undefined {
  const amount = wholeAt(object, key);
  const currency = textAt(owner, "currency")?.toUpperCase();
  if (amount === undefined || currency === undefined) return undefined;
  return fromProviderAmount(STRIPE_AMOUNTS, { amount, currency });
}
