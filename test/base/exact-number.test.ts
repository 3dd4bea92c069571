import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isExact } from "../../src/base/exact-number.js";

const exact = (text: string) => isExact(text, JSON.parse(text));

/** A decimal text as a fraction of whole numbers, by plain arithmetic. */
function fractionOf(text: string): readonly [bigint, bigint] {
  const [, sign = "", whole = "0", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? expect.fail(`${text} is no number`);
  const digits = BigInt(`${sign}${whole}${fraction}`);
  const exponent = Number(power) - fraction.length;
  return exponent >= 0 ? [digits * 10n ** BigInt(exponent), 1n] : [digits, 10n ** BigInt(-exponent)];
}

function isSameValue(one: string, other: string): boolean {
  const [[a, b], [c, d]] = [fractionOf(one), fractionOf(other)];
  return a * d === c * b;
}

describe("a number in JSON", () => {
  it.each([
    ["0", true],
    ["-0", true],
    ["0.0e5", true],
    ["1.50", true],
    ["100", true],
    ["1e2", true],
    ["0.1", true],
    ["-12.5E-3", true],
    ["9007199254740992", true],
    ["9007199254740993", false],
    ["4111111111111111", true],
    ["4111111111111111111", false],
    ["4111111111111111000", true],
    ["0.1000000000000000055511151231257827", false],
    ["0.30000000000000004", true],
    ["0.300000000000000040", true],
    ["0.300000000000000041", false],
    ["1e308", true],
    ["1e309", false],
    ["5e-324", true],
    ["4e-324", false],
    ["1e-400", false],
    ["0e-400", true],
    ["1.7976931348623157e308", true],
    ["123456789012345680000", true],
    ["123456789012345678901", false],
  ])("%s is kept with all of its digits: %s", (text, isKept) => {
    expect(exact(text)).toBe(isKept);
  });

  it("is kept exactly if JavaScript prints the same decimal value", () => {
    const digits = fc.stringMatching(/^\d{1,20}$/).map((text) => text.replace(/^0+(?=\d)/, ""));
    const fraction = fc.option(fc.stringMatching(/^\d{1,20}$/), { nil: "" });
    const power = fc.option(fc.integer({ min: -30, max: 30 }), { nil: undefined });
    fc.assert(
      fc.property(fc.boolean(), digits, fraction, power, (isNegative, whole, rest, exponent) => {
        const point = rest === "" ? "" : `.${rest}`;
        const text = `${isNegative ? "-" : ""}${whole}${point}${exponent === undefined ? "" : `e${exponent}`}`;
        expect(exact(text)).toBe(isSameValue(text, String(JSON.parse(text))));
      }),
      { numRuns: 500 },
    );
  });

  it("is always kept if JavaScript printed it", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(exact(JSON.stringify(value))).toBe(true);
      }),
    );
  });
});
