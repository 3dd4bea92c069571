import { currencyExponent } from "./currency.js";
import type { Money } from "./payment-request.js";

/** How a payment service counts a currency that it treats differently from ISO 4217. */
export interface CurrencyRule {
  /** Digits after the point that the service assumes. Absent: as in ISO 4217. */
  readonly exponent?: number;
  /** In the service's units; an amount must be a multiple of it. */
  readonly multipleOf?: number;
}

/** The rules of one payment service by currency. Unlisted currencies follow ISO 4217. */
export type AmountRules = Readonly<Record<string, CurrencyRule>>;

/** An amount that the service cannot express exactly, or one in an unknown currency. */
export type Inexpressible = undefined;

/**
 * Converts ISO 4217 minor units to the service's units. Returns undefined if the result is not exact: amounts are never
 * rounded.
 */
export function toProviderAmount(rules: AmountRules, { amount, currency }: Money): number | Inexpressible {
  const iso = currencyExponent(currency);
  if (iso === undefined) return undefined;
  const { exponent = iso, multipleOf = 1 } = rules[currency] ?? {};
  const units = shift(amount, exponent - iso);
  return units === undefined || units % multipleOf !== 0 ? undefined : units;
}

/** The inverse. Returns undefined if the result is not a whole number of ISO 4217 minor units. */
export function fromProviderAmount(rules: AmountRules, { amount, currency }: Money): number | Inexpressible {
  const iso = currencyExponent(currency);
  return iso === undefined ? undefined : shift(amount, iso - (rules[currency]?.exponent ?? iso));
}

/**
 * For services that expect decimals: 1234 EUR as "12.34", 500 JPY as "500". Returns undefined for an unknown currency.
 */
export function toDecimalText({ amount, currency }: Money): string | Inexpressible {
  const exponent = currencyExponent(currency);
  if (exponent === undefined) return undefined;
  if (exponent === 0) return String(amount);
  const digits = String(amount).padStart(exponent + 1, "0");
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/**
 * Reads "12.34" EUR as 1234. Returns undefined for other text, for more decimals than the currency has, and from 2^53
 * on.
 */
export function fromDecimalText(text: string, currency: string): number | Inexpressible {
  const exponent = currencyExponent(currency);
  const [, whole, fraction = ""] = /^(\d{1,16})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (exponent === undefined || whole === undefined) return undefined;
  const kept = fraction.slice(0, exponent).padEnd(exponent, "0");
  const amount = Number(`${whole}${kept}`);
  return /[1-9]/.test(fraction.slice(exponent)) || !Number.isSafeInteger(amount) ? undefined : amount;
}

function shift(amount: number, digits: number): number | undefined {
  if (!Number.isSafeInteger(amount)) return undefined;
  const factor = 10 ** Math.abs(digits);
  const shifted = digits >= 0 ? amount * factor : amount / factor;
  return Number.isSafeInteger(shifted) ? shifted : undefined;
}
