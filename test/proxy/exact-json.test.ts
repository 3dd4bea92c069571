import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/base/json.js";
import { ExactNumbers } from "../../src/proxy/exact-json.js";

/** The text that is written for the parsed value of a JSON text, after code changed it. */
const rewritten = (json: string, change: (value: JsonObject) => unknown = (value) => value) =>
  new ExactNumbers(json).write(JSON.parse(JSON.stringify(change(JSON.parse(json)))));

/** The value of a whole number, which JSON writes as 1.5e+21 where a double keeps it. */
function wholeOf(text: string): bigint {
  const [, mantissa = text, fraction = "", power = "0"] = /^(-?\d)(?:\.(\d+))?e\+(\d+)$/.exec(text) ?? [];
  return BigInt(`${mantissa}${fraction.padEnd(Number(power), "0")}`);
}

describe("numbers of a body that code changed", () => {
  it.each([
    ["an id of 64 bits", '{"id":12345678901234567890}', '{"id":12345678901234567890}'],
    ["many decimals", "[0.1000000000000000055]", "[0.1000000000000000055]"],
    ["one behind blanks", '{"id" :\n 12345678901234567891 }', '{"id":12345678901234567891}'],
    ["a negative one", "[-9007199254740993]", "[-9007199254740993]"],
    ["the same one twice", "[9007199254740993,9007199254740993]", "[9007199254740993,9007199254740993]"],
    ["one that only looks long", '["12345678901234567890",1.0]', '["12345678901234567890",1]'],
    ["digits within a name", '{"9007199254740993":1}', '{"9007199254740993":1}'],
  ])("keep all digits: %s", (_, json, expected) => {
    expect(rewritten(json)).toBe(expected);
  });

  it("keep them wherever they move, and are gone where they are removed", () => {
    const json = '{"id":9007199254740993,"amount":1}';
    expect(rewritten(json, ({ id }) => ({ list: [{ moved: id }] }))).toBe('{"list":[{"moved":9007199254740993}]}');
    expect(rewritten(json, ({ amount }) => amount)).toBe("1");
  });

  it.each([
    ["two numbers with one double", "[9007199254740993,9007199254740992]"],
    ["a number beyond doubles, which code sees as null", "[1e400,null]"],
    ["a negative number beyond doubles", "[-1e400]"],
  ])("are not written if their digits are ambiguous: %s", (_, json) => {
    expect(rewritten(json)).toBeUndefined();
  });

  it("are written although an ambiguous one was there, if code removed it", () => {
    expect(rewritten('{"a":[9007199254740993,9007199254740992],"b":2}', ({ b }) => ({ b }))).toBe('{"b":2}');
  });

  it("have the value of the text, whatever the text", () => {
    const numeral = fc.oneof(
      fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }).map(String),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
      fc.tuple(fc.nat(99), fc.stringMatching(/^[0-9]{1,25}$/)).map(([whole, fraction]) => `${whole}.${fraction}`),
    );
    fc.assert(
      fc.property(fc.array(numeral, { maxLength: 5 }), (numerals) => {
        const written = rewritten(`[${numerals.join(" , ")}]`);
        // Undefined: some of them share a double.
        if (written === undefined) return;
        const texts = written.slice(1, -1).split(",").filter(Boolean);
        expect(texts).toHaveLength(numerals.length);
        for (const [index, text] of texts.entries()) {
          expect(Number(text)).toBe(Number(numerals[index]));
          if (/^-?\d{17,}$/.test(numerals[index] ?? "")) expect(wholeOf(text)).toBe(wholeOf(numerals[index] ?? ""));
        }
      }),
      { numRuns: 300 },
    );
  });
});
