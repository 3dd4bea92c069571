import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { completeUntil, hasUtf16Reference, ReferenceScanner } from "../../../src/proxy/body/reference-scanner.js";

const ENCODINGS: Readonly<Record<string, (text: string) => Buffer>> = {
  "UTF-8": (text) => Buffer.from(text),
  "UTF-16, little end first": (text) => Buffer.from(text, "utf16le"),
  "UTF-16, big end first": (text) => Buffer.from(text, "utf16le").swap16(),
};

/** The forwarded bytes of these chunks, and whether a reference was found. */
function scan(pieces: readonly Buffer[]): { readonly passed: Buffer; readonly hasFound: boolean } {
  const scanner = new ReferenceScanner();
  const passed: Buffer[] = [];
  for (const piece of pieces) {
    passed.push(scanner.push(piece));
    if (scanner.hasFound) return { passed: Buffer.concat(passed), hasFound: true };
  }
  return { passed: Buffer.concat([...passed, scanner.end()]), hasFound: false };
}

/** Splits bytes at random places, possibly several times at one place. */
const cut = (bytes: Buffer) =>
  fc.array(fc.nat(bytes.length), { maxLength: 6 }).map((cuts) => {
    const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
    return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
  });

/** Text without a reference, much of which looks like the beginning of one. */
const quiet = fc
  .array(
    fc.constantFrom("{", "}", "{{", "}}", "{{}}", "{{ }}", "{{ ab }}", "{{ a/b }}", "{{ \0abc }}", "é", "\n", "x"),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join("|"));
const reference = fc.constantFrom(
  "{{abc}}",
  "{{ token: tök }}",
  "{{ abc | json: '$.number' }}",
  "{{ {{ abc }}",
  "{{{abc}}}",
);

describe.each(Object.keys(ENCODINGS))("references in a %s stream", (name) => {
  const encode = ENCODINGS[name] ?? Buffer.from;

  it("are found wherever the chunks are split, and nothing of them is forwarded", () => {
    const text = fc.tuple(quiet, reference, quiet);
    fc.assert(
      fc.property(
        text.chain((parts) => cut(encode(parts.join(""))).map((pieces) => ({ parts, pieces }))),
        ({ parts: [before, written], pieces }) => {
          const { passed, hasFound } = scan(pieces);
          expect(hasFound).toBe(true);
          const start = encode(`${before}${written.slice(0, written.lastIndexOf("{{"))}`);
          expect(passed.length).toBeLessThanOrEqual(start.length);
          expect(passed.equals(start.subarray(0, passed.length))).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("are not found in other text, and every byte is forwarded", () => {
    fc.assert(
      fc.property(
        quiet.chain((text) => cut(encode(text)).map((pieces) => ({ text, pieces }))),
        ({ text, pieces }) => {
          expect(scan(pieces)).toEqual({ passed: encode(text), hasFound: false });
        },
      ),
      { numRuns: 500 },
    );
  });

  it("may be 4,100 characters long; longer text is not a reference", () => {
    const long = (length: number) => encode(`{{ abc | append: '${"x".repeat(length)}' }}`);
    const pieces = (bytes: Buffer) => [bytes.subarray(0, 1_000), bytes.subarray(1_000)];
    expect(scan(pieces(long(4_000))).hasFound).toBe(true);
    expect(scan(pieces(long(4_200)))).toEqual({ passed: long(4_200), hasFound: false });
  });

  it("buffer no more than the longest of them", () => {
    const scanner = new ReferenceScanner();
    let passed = scanner.push(encode("{{")).length;
    for (let piece = 0; piece < 100; piece += 1) passed += scanner.push(encode("x".repeat(1_000))).length;
    expect(passed).toBeGreaterThan(encode("x".repeat(94_000)).length);
  });
});

describe("random bytes", () => {
  it("contain no reference, and are forwarded", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 2_000 }).chain((bytes) => cut(Buffer.from(bytes))),
        (pieces) => {
          expect(scan(pieces)).toEqual({ passed: Buffer.concat(pieces), hasFound: false });
        },
      ),
    );
  });
});

describe("the beginning of a body", () => {
  it.each([
    ["plain", 5],
    ["a {{ b }}", 9],
    ["a {{ b", 2],
    ["a {{ b }} {", 10],
    ["a {{ b }} {{ c }", 10],
    [`{{${"x".repeat(9_000)}`, 9_002],
  ])("%.20s is complete until %i", (text, end) => {
    expect(completeUntil(Buffer.from(text))).toBe(end);
  });

  it("in UTF-16 is distinguished from bytes that merely contain zeros", () => {
    expect(hasUtf16Reference(Buffer.from("{{ abc }}", "utf16le"))).toBe(true);
    expect(hasUtf16Reference(Buffer.from("{{ abc }}"))).toBe(false);
    expect(hasUtf16Reference(Buffer.from("{{ abc }}\0"))).toBe(false);
    expect(hasUtf16Reference(Buffer.from("{{ a/b }}", "utf16le"))).toBe(false);
  });
});
