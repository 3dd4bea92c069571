import type { AmountRules } from "../../contract/amount.js";

/** Where Adyen counts differently from ISO 4217 (docs.adyen.com, "Currency codes"). */
export const ADYEN_AMOUNTS: AmountRules = {
  CLP: { exponent: 2 },
  CVE: { exponent: 0 },
  IDR: { exponent: 0 },
  ISK: { exponent: 2 },
};
