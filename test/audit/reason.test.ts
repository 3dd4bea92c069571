import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readReason } from "../../src/audit/reason.js";
import { Fault } from "../../src/base/fault.js";

function outcomeOf(text: string | undefined): string {
  try {
    return readReason(text);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    expect(error.code).toBe("reason_invalid");
    if (text !== undefined && text.trim().length > 3) expect(error.message).not.toContain(text.trim());
    return "refused";
  }
}
const isRefused = (text: string | undefined) => outcomeOf(text) === "refused";

describe("a reason", () => {
  it.each([
    ["words", "Dispute 4711, asked by the issuer", "Dispute 4711, asked by the issuer"],
    ["spaces around it", "  TICKET-12 \u00a0", "TICKET-12"],
    ["three characters", "abc", "abc"],
    ["500 characters beyond the BMP", "\u{1f600}".repeat(500), "\u{1f600}".repeat(500)],
    ["decomposed letters", "cafe\u0301", "caf\u00e9"],
    ["a long number that is no card's", "order 4111111111111112", "order 4111111111111112"],
    ["the number of an acquirer's reference", "refund 74537604221222132710572", "refund 74537604221222132710572"],
    ["a card number within a longer number", "entry 9941111111111111117", "entry 9941111111111111117"],
    ["nine digits in other groups", "call 12 34567 89", "call 12 34567 89"],
  ])("may have %s", (_name, sent, stored) => {
    expect(outcomeOf(sent)).toBe(stored);
  });

  it.each([
    ["nothing", ""],
    ["no UTF-8", undefined],
    ["two characters", "ab"],
    ["three characters with spaces", " a  "],
    ["501 characters", "x".repeat(501)],
    ["more than 2,000 bytes", "\u{1d160}".repeat(500)],
    ["a lone surrogate", "abc\ud800"],
    ["a line break", "one\ntwo"],
    ["a NUL", "one\0two"],
    ["a C1 control", "one\u0085two"],
    ["a line separator", "one\u2028two"],
    ["a paragraph separator", "one\u2029two"],
    ["an override of direction", "one\u202etwo"],
    ["an isolate", "one\u2066two"],
    ["a card number", "for 4111111111111111"],
    ["a card number in groups", "for 4111-1111 1111.1111!"],
    ["a card number with wide gaps", "4 1 1 1 - 1 1 1 1 - 1 1 1 1 - 1 1 1 1"],
    ["a card number in full-width digits", "\uff14111111111111111"],
    [
      "a card number in Arabic digits",
      [..."4111111111111111"].map((d) => String.fromCodePoint(0x660 + Number(d))).join(""),
    ],
    ["a card number after a year", "in 2026 4111 1111 1111 1111"],
    ["a card number at the end of a longer number", "for 994111111111111111"],
    ["a card number with its expiry and code behind it", "for 41111111111111111226123"],
    ["a card number of 15 digits in front of a longer number", "for 3782822463100051226"],
    ["a social security number", "person 123-45-6789"],
    ["nine digits", "person 123456789"],
    ["one of our keys", "with key_prod_pvt_abc"],
  ])("may not have %s", (_name, sent) => {
    expect(isRefused(sent)).toBe(true);
  });

  it("with a card number is refused, with any separators, anywhere in the text", () => {
    const separator = fc.constantFrom("", " ", "-", ".", "/", " - ", "\u2010", "\u00a0");
    const card = fc
      .array(fc.integer({ min: 0, max: 9 }), { minLength: 12, maxLength: 18 })
      .filter((digits) => digits.some(Boolean));
    fc.assert(
      fc.property(card, separator, fc.stringMatching(/^[a-z ]{0,20}$/), (digits, between, around) => {
        const text = [...digits, checkDigit(digits)].join(between);
        expect(isRefused(`${around}${text}${around}`)).toBe(true);
      }),
    );
  });

  it("is trimmed, in form C, within its bounds, and the same when it is sent again", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        const stored = outcomeOf(text);
        if (stored === "refused") return;
        expect(stored).toBe(stored.trim().normalize("NFC"));
        expect([...stored].length).toBeGreaterThanOrEqual(3);
        expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(2_000);
        expect(stored).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
        expect(outcomeOf(stored)).toBe(stored);
      }),
    );
  });

  it("may be plain words", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z][A-Za-z ,.]{2,100}[a-z]$/), (text) => {
        expect(outcomeOf(text)).toBe(text);
      }),
    );
  });
});

/** The digit that completes a card number (ISO/IEC 7812-1, annex B). */
function checkDigit(digits: readonly number[]): number {
  const sum = digits.toReversed().reduce((total, digit, index) => {
    const doubled = index % 2 === 0 ? 2 * digit : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return (10 - (sum % 10)) % 10;
}
