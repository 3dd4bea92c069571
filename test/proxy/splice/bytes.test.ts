import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isReference, MAX_REFERENCE_LENGTH, placesInBytes } from "../../../src/proxy/splice/bytes.js";
import { splice } from "../../../src/proxy/splice/place.js";

/** The bytes with every reference replaced by a value. */
function spliced(bytes: Buffer, value: string): Buffer {
  const text = bytes.toString("latin1");
  const places = [...placesInBytes(text)];
  return Buffer.from(
    splice(
      text,
      places,
      places.map(() => value),
    ),
    "latin1",
  );
}

describe("references among bytes", () => {
  it("are replaced by the value in UTF-8, and every other byte stays", () => {
    const other = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(other, other, fc.string({ unit: "grapheme" }), (before, after, value) => {
        fc.pre(![before, after].some((bytes) => /[{}]/.test(bytes.toString("latin1"))));
        const reference = Buffer.from("{{ tök | json: '$.a' }}");
        expect(spliced(Buffer.concat([before, reference, after]), value)).toEqual(
          Buffer.concat([before, Buffer.from(value), after]),
        );
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0x7b, 0x20, 0xff, 0x61, 0x7d, 0x7d])],
    ["a NUL", Buffer.from("{{ a\0b }}")],
    ["a control character", Buffer.from("{{ a\x1bb }}")],
    ["an unknown prefix", Buffer.from("{{ card: abc }}")],
    ["nothing", Buffer.from("{{}} {{ }}")],
    ["a slash, which no id has", Buffer.from("{{ a/b }}")],
    ["too long a text", Buffer.from(`{{ ${"a".repeat(MAX_REFERENCE_LENGTH)} }}`)],
  ])("are not braces between %s, which stay as they are", (_, bytes) => {
    expect(spliced(bytes, "value")).toEqual(bytes);
  });

  it("are refused among more than 20,000 braces that are something else", () => {
    const braces = (count: number) => "{{/}}".repeat(count);
    expect([...placesInBytes(braces(20_000))]).toEqual([]);
    expect(() => [...placesInBytes(braces(20_001))]).toThrow(/must hold fewer double braces/);
  });
});

describe("a text between braces", () => {
  it.each([
    [" abc ", true],
    [" abc\t| last4\n", true],
    ["a\tb", false],
    ["token: abc | json: '$.a'", true],
    ["config: KEY", true],
    ["encrypted", true],
    ["abc |", false],
    ["a\x7fb", false],
  ])("%j is a reference: %s", (text, expected) => {
    expect(isReference(text)).toBe(expected);
  });
});
