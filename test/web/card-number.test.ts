import { describe, expect, it } from "vitest";
import { formatCardNumber, readCardNumber } from "../../src/web/elements/card-number.js";
import { asciiDigits, digitsIn, passesAba } from "../../src/web/elements/digits.js";

describe("a card number being typed", () => {
  it.each([
    ["4242424242424242", "4242 4242 4242 4242", "visa", true],
    ["378282246310005", "3782 822463 10005", "american-express", true],
    ["5555555555554444", "5555 5555 5555 4444", "mastercard", true],
    ["4242424242424241", "4242 4242 4242 4241", "visa", false],
    ["6", "6", undefined, false],
    ["", "", undefined, false],
  ])("is grouped and checked: %s", (digits, formatted, brand, isValid) => {
    const number = readCardNumber(digits);
    expect([formatCardNumber(number), number.brand, number.isValid]).toEqual([formatted, brand, isValid]);
  });

  it("is full at the longest length of its brand", () => {
    expect(readCardNumber("378282246310005").isFull).toBe(true);
    expect(readCardNumber("4242424242424242").isFull).toBe(false);
    expect(readCardNumber("4242424242424242000").isFull).toBe(true);
  });

  it("has a verification code of the brand's length", () => {
    expect(readCardNumber("37").codeLengths).toEqual([4]);
    expect(readCardNumber("4").codeLengths).toEqual([3]);
    expect(readCardNumber("").codeLengths).toEqual([3, 4]);
  });
});

describe("digits of any script", () => {
  it.each([
    ["٤٢٤٢", "4242"],
    ["۴۲۴۲ ۰۹", "4242 09"],
    ["４２-42", "42-42"],
    ["𝟘𝟙𝟡𝟬", "0190"],
    ["०१९", "019"],
  ])("%s", (text, ascii) => {
    expect(asciiDigits(text)).toBe(ascii);
    expect(digitsIn(text)).toBe(ascii.replace(/\D/g, ""));
  });

  it("have the checksum of a routing number, or not", () => {
    expect(passesAba("021000021")).toBe(true);
    expect(passesAba("021000022")).toBe(false);
    expect(passesAba("000000000")).toBe(false);
  });
});
