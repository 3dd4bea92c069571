import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { passesLuhn } from "../../../src/base/luhn.js";
import { passesAba } from "../../../src/tokens/types/check-digits.js";

/** The text with the digits at two places exchanged. */
function swapped(text: string, at: number): string {
  return `${text.slice(0, at)}${text.charAt(at + 1)}${text.charAt(at)}${text.slice(at + 2)}`;
}

/** All texts that differ from `text` in one digit. */
function typingMistakes(text: string): string[] {
  return [...text].flatMap((digit, at) =>
    [..."0123456789"].filter((other) => other !== digit).map((other) => text.slice(0, at) + other + text.slice(at + 1)),
  );
}

function withCheckDigit(start: string, passes: (text: string) => boolean): string {
  return [..."0123456789"].map((digit) => `${start}${digit}`).find(passes) ?? expect.fail("no digit fits");
}

describe("the check digit of a card number", () => {
  it.each(["4242424242424242", "378282246310005", "36227206271667", "6011111111111117", "79927398713", "0"])(
    "is right in %s",
    (number) => {
      expect(passesLuhn(number)).toBe(true);
    },
  );

  it("exists exactly once for any digits, and shows each mistyped digit", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{12,18}$/), (start) => {
        const number = withCheckDigit(start, passesLuhn);
        expect(typingMistakes(number).filter(passesLuhn)).toEqual([]);
      }),
    );
  });

  it("shows two neighbours that are exchanged, except 09 and 90", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{12,18}$/), fc.nat({ max: 11 }), (start, at) => {
        const number = withCheckDigit(start, passesLuhn);
        const pair = number.slice(at, at + 2);
        const isUnseen = pair === "09" || pair === "90" || pair.charAt(0) === pair.charAt(1);
        expect(passesLuhn(swapped(number, at))).toBe(isUnseen);
      }),
    );
  });
});

describe("the checksum of a routing number", () => {
  it.each(["021000021", "011401533", "091000019", "121000248"])("is right in %s", (number) => {
    expect(passesAba(number)).toBe(true);
  });

  it("shows each mistyped digit", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{8}$/), (start) => {
        fc.pre(start !== "00000000");
        const number = withCheckDigit(start, passesAba);
        expect(typingMistakes(number).filter((mistake) => passesAba(mistake))).toEqual([]);
      }),
    );
  });

  it("does not accept all zeros, which no bank has", () => {
    expect(passesAba("000000000")).toBe(false);
  });
});
