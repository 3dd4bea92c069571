import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusal, result, sampleCard } from "../outcome.js";

const delimited = "3622-7206-2716-5567";

describe("reveal", () => {
  test.each([
    ["{{ data | reveal: 6 }}", "3622-7XXXXXXXXXXXXX"],
    ["{{ data | reveal: 7, 5 }}", "3622-72XXXXXXX-5567"],
    ["{{ data | reveal: 7, 5, '#' }}", "3622-72#######-5567"],
    ["{{ data | reveal: 7, 4, '#', \"-\" }}", "3622-72##-####-5567"],
    ["{{ data | reveal: 10, 9 }}", "XXXXXXXXXXXXXXXXXXX"],
    ["{{ data | reveal }}", "XXXXXXXXXXXXXXXXXXX"],
    ["{{ data | reveal: reveal_last: 4 }}", "XXXXXXXXXXXXXXX5567"],
    ["{{ data | reveal: '6' }}", "3622-7XXXXXXXXXXXXX"],
  ])("%s", (expression, expected) => {
    expect(result(expression, delimited)).toBe(expected);
  });

  test("masks everything if the mask would change nothing", () => {
    expect(result("{{ data | reveal: 1, 1, 'X', '-' }}", "a--b")).toBe("XXXX");
  });

  test("counts characters as a reader does", () => {
    expect(result("{{ data | reveal: 1, 1 }}", "😀ab😀")).toBe("😀XX😀");
  });

  test.each([
    "{{ data | reveal: data.missing }}",
    "{{ data | reveal: -1 }}",
    "{{ data | reveal: 1.5 }}",
    "{{ data | reveal: 'x' }}",
  ])("%s is rejected rather than read as a default", (expression) => {
    expect(refusal(expression, delimited)).toContain("reveal needs a whole number as reveal_first");
  });
});

describe("reveal_last", () => {
  test.each([
    ["36227206271667", "{{ data | reveal_last: 6 }}", "XXXXXXXX271667"],
    ["36227206271667", "{{ data | reveal_last: 3, '#' }}", "###########667"],
    ["36227206271667", "{{ data | reveal_last: 4 }}", "XXXXXXXXXX1667"],
    ["4242424242424242", "{{ data | reveal_last: 4 }}", "XXXXXXXXXXXX4242"],
    ["4242-4242-4242-4242", "{{ data | reveal_last: 4 }}", "XXXX-XXXX-XXXX-4242"],
    ["111-22-3333", "{{ data | reveal_last: 4, '#' }}", "###-##-3333"],
    ["123-45-6789", "{{ data | reveal_last: 4 }}", "XXX-XX-6789"],
    ["12-3456789", "{{ data | reveal_last: 4 }}", "XX-XXX6789"],
    ["123456789", "{{ data | reveal_last: 4 }}", "XXXXX6789"],
    ["1234567890", "{{ data | reveal_last: 4 }}", "XXXXXX7890"],
    ["Sensitive Value", "{{ data | reveal_last: 4 }}", "XXXXXXXXXXXalue"],
    ["123", "{{ data | reveal_last: 4 }}", "123"],
    ["1234", "{{ data | reveal_last: 0 }}", "XXXX"],
  ])("masks %s by %s", (data, expression, expected) => {
    expect(result(expression, data)).toBe(expected);
  });

  test("masks a number as its text", () => {
    expect(result("{{ data | reveal_last: 4 }}", 36227206271667)).toBe("XXXXXXXXXX1667");
  });

  test.each([
    ["{{ data | reveal_last }}", "reveal_last needs a whole number as length"],
    ["{{ data | reveal_last: data.missing }}", "reveal_last needs a whole number as length"],
    ["{{ data | reveal_last: 4, '' }}", "reveal_last needs one character as mask_char"],
    ["{{ data | reveal_last: 4, 'XY' }}", "reveal_last needs one character as mask_char"],
  ])("%s is rejected", (expression, reason) => {
    expect(refusal(expression, "4242424242424242")).toContain(reason);
  });

  test("shows at most the requested number of characters, each in its place", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.nat(70), (data, length) => {
        const masked = result(`{{ data | reveal_last: ${length}, '•' }}`, data);
        const shown = [...String(masked)].filter((character, at) => character === [...data][at]);
        expect([...String(masked)]).toHaveLength([...data].length);
        expect(shown.filter((character) => /[\p{L}\p{N}]/u.test(character)).length).toBeLessThanOrEqual(length);
      }),
    );
  });
});

describe("card_mask", () => {
  test.each([
    [sampleCard.number, "{{ data | card_mask: 'false', 'false', 'X', '-' }}", "XXXXXXXXXXXXXXXX"],
    [sampleCard.number, "{{ data | card_mask: 'true', 'false', 'X', '-' }}", "36227206XXXXXXXX"],
    [sampleCard.number, "{{ data | card_mask: 'true', 'true', '#', '-' }}", "36227206####5567"],
    [sampleCard.number, "{{ data | card_mask: 'false', 'true', 'X', '-' }}", "XXXXXXXXXXXX5567"],
    [delimited, "{{ data | card_mask: 'false', 'false', 'X', '-' }}", "XXXX-XXXX-XXXX-XXXX"],
    [delimited, "{{ data | card_mask: 'true', 'false', 'X', '-' }}", "3622-7206-XXXX-XXXX"],
    [delimited, "{{ data | card_mask: 'true', 'true', '#', '-' }}", "3622-7206-####-5567"],
    [delimited, "{{ data | card_mask: 'false', 'true', 'X', '-' }}", "XXXX-XXXX-XXXX-5567"],
    ["378282246310005", "{{ data | card_mask: true, true }}", "378282XXXXX0005"],
    [sampleCard.number, "{{ data | card_mask }}", "XXXXXXXXXXXXXXXX"],
    [sampleCard.number, "{{ data | card_mask: reveal_last4: true }}", "XXXXXXXXXXXX5567"],
    ["4242424242", "{{ data | card_mask: true, true }}", "XXXXXXXXXX"],
  ])("masks %s by %s", (data, expression, expected) => {
    expect(result(expression, data)).toBe(expected);
  });

  test("a flag other than true and false is rejected", () => {
    expect(refusal("{{ data | card_mask: 'yes' }}", delimited)).toContain(
      "card_mask needs true or false as reveal_bin",
    );
  });
});

describe("last4", () => {
  test.each([
    ["{{ data.number | last4 }}", "5567"],
    ["{{ data.number | slice: 12, 2 | last4 }}", "55"],
    ["{{ data.expiration_year | last4 }}", "2028"],
  ])("%s", (expression, expected) => {
    expect(result(expression, sampleCard)).toBe(expected);
  });
});

test.each(["reveal: 1", "reveal_last: 1", "card_mask", "last4"])(
  "%s leaves null and refuses objects and lists",
  (filter) => {
    expect(result(`{{ data.missing | ${filter} }}`, sampleCard)).toBeNull();
    expect(refusal(`{{ data | ${filter} }}`, sampleCard)).toContain("needs a text");
    expect(refusal(`{{ data | ${filter} }}`, [sampleCard.number])).toContain("needs a text");
  },
);
