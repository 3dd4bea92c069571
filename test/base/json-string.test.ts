import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { endOfJsonString, startOfJsonString } from "../../src/base/json-string.js";
import { isLongerThan } from "../../src/base/text-length.js";

/** Texts with many quotes and backslashes, and some beyond the 64 characters that are looked at one by one. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', "\\", "a", "\n", "é", "\u{1F40B}", "\ud800"), maxLength: 200 }),
  fc.string({ maxLength: 20 }).map((start) => start + "\\".repeat(150)),
);

describe("a string inside JSON", () => {
  it("ends behind its closing quote, whatever is in it and after it", () => {
    fc.assert(
      fc.property(text, fc.string(), fc.string(), (value, before, after) => {
        const json = JSON.stringify(value);
        expect(endOfJsonString(before + json + after, before.length)).toBe(before.length + json.length);
      }),
      { numRuns: 500 },
    );
  });

  it.each(['"', '"abc', '"abc\\"', '"\\\\\\"', `"${"x".repeat(500)}\\"`])(
    "ends with the text if it is not closed: %.12s",
    (json) => {
      expect(endOfJsonString(json, 0)).toBe(json.length);
    },
  );

  it("begins with the same characters as the whole of it", () => {
    fc.assert(
      fc.property(text, fc.nat({ max: 30 }), (value, characters) => {
        expect(startOfJsonString(`[${JSON.stringify(value)}]`, 1, characters)).toBe(value.slice(0, characters));
      }),
      { numRuns: 500 },
    );
  });
});

describe("the length of a text", () => {
  it("is counted in Unicode characters, not in UTF-16 units", () => {
    fc.assert(
      fc.property(text, fc.nat({ max: 210 }), (value, most) => {
        expect(isLongerThan(value, most)).toBe([...value].length > most);
      }),
    );
    expect(isLongerThan("\u{1F40B}".repeat(400), 400)).toBe(false);
    expect(isLongerThan("\u{1F40B}".repeat(401), 400)).toBe(true);
  });
});
