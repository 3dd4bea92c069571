import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AmountRules,
  fromDecimalText,
  fromProviderAmount,
  toDecimalText,
  toProviderAmount,
} from "../../../src/payments/contract/amount.js";
import { CURRENCIES, currencyExponent, numericCurrency } from "../../../src/payments/contract/currency.js";

const RULES: AmountRules = {
  ISK: { exponent: 2, multipleOf: 100 },
  MGA: { exponent: 0 },
  CLP: { exponent: 2 },
  KWD: { multipleOf: 10 },
};

describe("amounts for a payment service", () => {
  it.each([
    [1234, "USD", 1234],
    [500, "JPY", 500],
    [500, "ISK", 50_000],
    [500, "CLP", 50_000],
    [500, "MGA", 5],
    [501, "MGA", undefined],
    [1230, "KWD", 1230],
    [1234, "KWD", undefined],
    [1, "XXX", undefined],
    [1.5, "USD", undefined],
  ])("%d %s is %s", (amount, currency, expected) => {
    expect(toProviderAmount(RULES, { amount, currency })).toBe(expected);
  });

  it("survive the round trip in every currency, or are rejected", () => {
    fc.assert(
      fc.property(fc.constantFrom(...CURRENCIES), fc.nat(Number.MAX_SAFE_INTEGER), (currency, amount) => {
        const sent = toProviderAmount(RULES, { amount, currency });
        if (sent !== undefined) expect(fromProviderAmount(RULES, { amount: sent, currency })).toBe(amount);
      }),
    );
  });
});

describe("decimals", () => {
  it.each([
    [1234, "USD", "12.34"],
    [5, "USD", "0.05"],
    [500, "JPY", "500"],
    [5, "KWD", "0.005"],
    [Number.MAX_SAFE_INTEGER, "USD", "90071992547409.91"],
    [Number.MAX_SAFE_INTEGER, "JPY", "9007199254740991"],
  ])("%d %s is %s", (amount, currency, text) => {
    expect(toDecimalText({ amount, currency })).toBe(text);
    expect(fromDecimalText(text, currency)).toBe(amount);
  });

  it.each([
    ["12.345", "USD"],
    ["1.5", "JPY"],
    ["-1", "USD"],
    ["1e3", "USD"],
    ["", "USD"],
    ["1", "XXX"],
    ["90071992547409.92", "USD"],
  ])("%s %s is invalid", (text, currency) => {
    expect(fromDecimalText(text, currency)).toBeUndefined();
  });

  it("may have more digits than the currency, if they are zeros", () => {
    expect(fromDecimalText("12.3400", "USD")).toBe(1234);
  });
});

describe("currencies", () => {
  it("have an exponent that the platform agrees with, and a unique number", () => {
    const numbers = CURRENCIES.map(numericCurrency);
    expect(new Set(numbers).size).toBe(CURRENCIES.length);
    for (const number of numbers) expect(number).toMatch(/^\d{3}$/);
    // CLDR counts some currencies by their cash use, and not by ISO 4217.
    const cash = new Set(
      "AFN ALL IQD IRR KPW LAK LBP MGA MMK PKR RSD SLE SOS SYP TMT UZS YER COP CRC IDR HUF TZS AMD GYD MNT MUR NOK SEK TWD CZK DKK BYN CHF CAD UGX ISK CLF STN".split(
        " ",
      ),
    );
    for (const currency of CURRENCIES.filter((code) => !cash.has(code))) {
      const { maximumFractionDigits } = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions();
      expect([currency, currencyExponent(currency)]).toEqual([currency, maximumFractionDigits]);
    }
  });
});
