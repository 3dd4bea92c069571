import { CURRENCIES } from "./currency.js";
import type { Feature, FormulaField } from "./formula.js";

/** The features that most payment services have. */
export const USUAL_FEATURES: readonly Feature[] = [
  "delayed_capture",
  "partial_capture",
  "partial_refunds",
  "refunds",
  "verify_credentials",
  "void",
  "zero_auth",
];

/** An optional field that is shown. */
export function textField(key: string, displayName: string): FormulaField {
  return { key, displayName, required: false, format: "text", secret: false };
}

/** An optional field that is sealed and never shown. */
export function secretField(key: string, displayName: string): FormulaField {
  return { ...textField(key, displayName), secret: true };
}

/** The same field, required. */
export function required(field: FormulaField): FormulaField {
  return { ...field, required: true };
}

/** For services whose key does not show the mode. Default: test. */
export function modeField(): FormulaField {
  return { ...textField("mode", "Test or live"), choices: ["test", "live"] };
}

/** Countries or currencies from a list of their codes. */
export function codeList(list: string): string[] {
  return list.split(/\s+/);
}

/** All currencies but these. */
export function currenciesWithout(list: string): string[] {
  const excluded = new Set(codeList(list));
  return CURRENCIES.filter((currency) => !excluded.has(currency));
}
