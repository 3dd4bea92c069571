import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusal, result, sampleCard } from "../outcome.js";

const delimited = "3622-7206-2716-5567";
const mixed = "ABC12345DEF67890";

describe("alias_card", () => {
  test.each([
    [sampleCard.number, "alias_card", /^\d{16}$/],
    [sampleCard.number, "alias_card: 'false', 'false'", /^\d{16}$/],
    [sampleCard.number, "alias_card: 'true', 'false'", /^36227206\d{8}$/],
    [sampleCard.number, "alias_card: 'true', 'true'", /^36227206\d{4}5567$/],
    [sampleCard.number, "alias_card: 'false', 'true'", /^\d{12}5567$/],
    [delimited, "alias_card", /^\d{4}-\d{4}-\d{4}-\d{4}$/],
    [delimited, "alias_card: 'false', 'false'", /^\d{4}-\d{4}-\d{4}-\d{4}$/],
    [delimited, "alias_card: 'true', 'false'", /^3622-7206-\d{4}-\d{4}$/],
    [delimited, "alias_card: 'true', 'true'", /^3622-7206-\d{4}-5567$/],
    [delimited, "alias_card: 'false', 'true'", /^\d{4}-\d{4}-\d{4}-5567$/],
    ["3622 7206 2716 5567", "alias_card: false, true", /^\d{4} \d{4} \d{4} 5567$/],
    ["378282246310005", "alias_card: true, true", /^378282\d{5}0005$/],
  ])("replaces %s by %s", (data, filter, shape) => {
    const alias = result(`{{ data | ${filter} }}`, data);
    expect(alias).toMatch(shape);
    expect(alias).not.toBe(data);
  });

  test.each([
    ["123", "alias_card: 'false', 'true'"],
    ["123456", "alias_card: 'true', 'false'"],
    ["1234567890", "alias_card: 'true', 'true'"],
    ["----", "alias_card"],
  ])("rejects %s by %s: nothing would be hidden", (data, filter) => {
    expect(refusal(`{{ data | ${filter} }}`, data)).toContain("alias_card needs more digits than it reveals");
  });

  test("anything but a card number is rejected", () => {
    expect(refusal("{{ data | alias_card }}", "4242abcd42424242")).toContain("alias_card needs a card number");
  });
});

describe("alias_preserve_format", () => {
  test.each([
    [mixed, "alias_preserve_format", /^[a-z]{3}\d{5}[a-z]{3}\d{5}$/],
    [mixed, "alias_preserve_format: 3", /^ABC\d{5}[a-z]{3}\d{5}$/],
    [mixed, "alias_preserve_format: 0, 5", /^[a-z]{3}\d{5}[a-z]{3}67890$/],
    [mixed, "alias_preserve_format: 3, 5", /^ABC\d{5}[a-z]{3}67890$/],
    ["111-22-3333", "alias_preserve_format: 0, 4", /^\d{3}-\d{2}-3333$/],
    ["4242424242424242", "alias_preserve_format: 0, 4", /^\d{12}4242$/],
    ["john.doe@gmail.com", "alias_preserve_format", /^[a-z]{4}\.[a-z]{3}@[a-z]{5}\.[a-z]{3}$/],
    ["Zoë 1", "alias_preserve_format", /^[a-z]{3} \d$/],
  ])("replaces %s by %s", (data, filter, shape) => {
    const alias = result(`{{ data | ${filter} }}`, data);
    expect(alias).toMatch(shape);
    expect(alias).not.toBe(data);
  });
});

describe("alias_preserve_length", () => {
  test.each([
    [mixed, "alias_preserve_length", /^[a-z0-9]{16}$/],
    [mixed, "alias_preserve_length: 3", /^ABC[a-z0-9]{13}$/],
    [mixed, "alias_preserve_length: 0, 5", /^[a-z0-9]{11}67890$/],
    [mixed, "alias_preserve_length: 3, 5", /^ABC[a-z0-9]{8}67890$/],
    ["john.doe@gmail.com", "alias_preserve_length: 0, 10", /^[a-z0-9]{8}@gmail\.com$/],
  ])("replaces %s by %s", (data, filter, shape) => {
    expect(result(`{{ data | ${filter} }}`, data)).toMatch(shape);
  });
});

test.each(["alias_preserve_format", "alias_preserve_length"])("%s", (filter) => {
  expect(result(`{{ data.missing | ${filter} }}`, {})).toBeNull();
  expect(refusal(`{{ data | ${filter}: 0, 4 }}`, "1234")).toContain("must leave at least one character to replace");
  expect(refusal(`{{ data | ${filter} }}`, "")).toContain("must leave at least one character to replace");
  expect(refusal(`{{ data | ${filter} }}`, "a".repeat(4_097))).toContain("at most 4096 characters");
});

test("an alias with a single hidden digit still differs from its input", () => {
  for (let round = 0; round < 200; round += 1) {
    expect(result("{{ data | alias_preserve_format: 3 }}", "1234")).not.toBe("1234");
  }
});

test("all digits and letters occur", () => {
  const drawn = new Set(String(result("{{ data | alias_preserve_length }}", "x".repeat(4_000))));
  expect([...drawn].sort().join("")).toBe("0123456789abcdefghijklmnopqrstuvwxyz");
});

test("the revealed ends are kept and the length is preserved", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Z0-9]{8,40}$/), fc.nat(3), fc.nat(3), (data, first, last) => {
      const alias = String(result(`{{ data | alias_preserve_length: ${first}, ${last} }}`, data));
      expect(alias).toHaveLength(data.length);
      expect(alias.slice(0, first)).toBe(data.slice(0, first));
      expect(alias.slice(data.length - last)).toBe(data.slice(data.length - last));
    }),
  );
});
