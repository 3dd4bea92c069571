import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/base/json.js";
import { MASK_CODE, maskArguments, maskedText } from "../../src/proxy/mask-transform.js";
import type { MaskMatcher } from "../../src/proxy/transform.js";

/** The mask as the sandbox runs it: the code of a module, which gets its arguments and returns JSON. */
function masked(matcher: MaskMatcher, text: string, replacement = "*"): string {
  const call = (args: JsonObject) =>
    `(() => { const module = {}; ${MASK_CODE}; return JSON.stringify(module.exports({ args: ${JSON.stringify(args)} })); })()`;
  return maskedText(JSON.parse(String(runInNewContext(call(maskArguments(matcher, replacement, text))))));
}
const byPattern = (expression: string, text: string) => masked({ kind: "regex", expression }, text);
const PAN: MaskMatcher = { kind: "chase_stratus_pan" };

describe("a mask by a pattern", () => {
  it.each([
    ["what a group captures", "cvc=(\\d+)", "cvc=123&x=123", "cvc=***&x=123"],
    ["every match", "(\\d)", "a1b2", "a*b*"],
    ["every occurrence of the captured text within the match", "id=(\\w+);.*", "id=abc;again abc", "id=***;again ***"],
    ["each of several groups", "(a+)-(b+)", "aa-bbb", "**-***"],
    ["named groups", "n=(?<number>\\d+)", "n=42", "n=**"],
    ["across lines", "<(.*)>", "<a\nb>", "<***>"],
    ["each UTF-16 unit of a character", "<(.+)>", "<😀>", "<**>"],
    ["nothing of a group that takes no part", "a|(b)", "a", "a"],
    ["what a lookahead captures", "(?=(\\d{16}))", "n=4242424242424242;", "n=****************;"],
    ["what a lookbehind captures", "(?<=(\\w+)): x", "key: x", "***: x"],
    ["a lookahead's capture also where the match hid its start", "(?=(\\d{8}))(\\d{4})", "12345678", "********"],
    ["overlapping captures of lookaheads", "(?=(\\d{3}))", "a12345b", "a*****b"],
    ["a lookahead's capture at its place alone", "id(?=:(\\d))", "id:7 7", "id:* 7"],
    ["adjacent groups, whose digits are alike", "(\\d{4})(\\d{12})", "1111111122223333", "****************"],
    ["a group that begins with the one before it", "(\\d)(\\d{3})", "1123", "****"],
    ["a lookahead's capture beside a group", "(?=(\\d{2}))\\d(\\d{3})", "1234", "****"],
    ["a capture that overlaps an earlier occurrence of itself", "a(aa)", "aaa", "***"],
    ["nothing of an empty group", "a()", "aa", "aa"],
  ])("hides %s", (_, expression, text, expected) => {
    expect(byPattern(expression, text)).toBe(expected);
  });
});

describe("a mask of card numbers", () => {
  it.each([
    ["a Visa number", "4242424242424242", "****************"],
    ["an American Express number", "n: 378282246310005.", "n: ***************."],
    ["a number of 19 digits", "6304000000000000000", "*******************"],
    ["both of two", "4242424242424242 5555555555554444", "**************** ****************"],
    ["nothing of a number with a wrong check digit", "4242424242424241", "4242424242424241"],
    ["nothing of twelve digits", "424242424242", "424242424242"],
    ["nothing of a number with blanks", "4242 4242 4242 4242", "4242 4242 4242 4242"],
  ])("hides %s", (_, text, expected) => {
    expect(masked(PAN, text)).toBe(expected);
  });

  it("keeps the length of every text, and all that is no digit", () => {
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^\d{10,22}$/), fc.string(), (before, digits, after) => {
        const text = `${before}${digits}${after}`;
        const hidden = masked(PAN, text, "#");
        expect(hidden).toHaveLength(text.length);
        for (const [index, unit] of [...text].entries()) if (!/\d/.test(unit)) expect([...hidden][index]).toBe(unit);
      }),
      { numRuns: 50 },
    );
  });
});
