import { createSecretKey, randomBytes } from "node:crypto";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lengthPrefixed, newNonce } from "../../src/crypto/bytes.js";
import { isUuidPosition, readCursor, writeCursor } from "../../src/crypto/cursor.js";
import {
  hashFingerprint,
  macEquals,
  readFingerprint,
  searchTerm,
  showFingerprint,
  type TermKind,
  truncatedMac,
} from "../../src/crypto/keyed-hash.js";
import { Sensitive } from "../../src/crypto/sensitive.js";

const newKey = () => createSecretKey(randomBytes(32));
const key = newKey();
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe("parts that are joined", () => {
  it("never join to the same bytes, whatever they contain", () => {
    const part = fc.oneof(
      fc.string(),
      fc.constantFrom("", "\0", "\0\0\0\x01", "a", "ab"),
      fc.uint8Array({ maxLength: 3 }),
    );
    const bytesOf = (parts: readonly (string | Uint8Array)[]) => parts.map((one) => hex(Buffer.from(one)));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), fc.array(part, { maxLength: 4 }), (one, other) => {
        const isSame = lengthPrefixed(one).equals(lengthPrefixed(other));
        expect(isSame).toBe(JSON.stringify(bytesOf(one)) === JSON.stringify(bytesOf(other)));
      }),
    );
  });

  it("count their bytes, not their characters", () => {
    expect(hex(lengthPrefixed(["é", ""]))).toBe("00000002c3a900000000");
  });
});

describe("a nonce", () => {
  it("has 12 bytes and is never used twice, also beyond the pool of 1,024", () => {
    const nonces = Array.from({ length: 3_000 }, newNonce);
    expect(new Set(nonces.map(hex)).size).toBe(3_000);
    for (const nonce of nonces) expect(nonce).toHaveLength(12);
  });
});

describe("a fingerprint", () => {
  it.each([
    ["the same key, type and value", hashFingerprint(key, "card", "4242"), true],
    ["another key", hashFingerprint(newKey(), "card", "4242"), false],
    ["another type", hashFingerprint(key, "bank", "4242"), false],
    ["another value", hashFingerprint(key, "card", "4243"), false],
    ["type and value that join to the same text", hashFingerprint(key, "card4", "242"), false],
    ["a search term of the same value", searchTerm(key, "index", "card", "4242"), false],
  ])("is the same for %s: %s", (_, other, isSame) => {
    expect(hashFingerprint(key, "card", "4242").equals(other)).toBe(isSame);
  });

  it("is read as it is shown: in 44 to 46 letters and digits", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const shown = showFingerprint(bytes);
        expect(shown).toMatch(/^[1-9A-HJ-NP-Za-km-z]{44,46}$/);
        expect(readFingerprint(shown)?.equals(bytes)).toBe(true);
      }),
    );
  });

  it.each([
    ["nothing", ""],
    ["other letters than base58", `0${showFingerprint(Buffer.alloc(32, 9)).slice(1)}`],
    ["a shorter text", showFingerprint(Buffer.alloc(32, 9)).slice(1)],
    ["a longer text", `${showFingerprint(Buffer.alloc(32, 9))}1`],
    ["a second spelling with a leading 1", `1${showFingerprint(Buffer.alloc(32, 9))}`],
    ["blanks around it", ` ${showFingerprint(Buffer.alloc(32, 9))}`],
    ["a very long text", "z".repeat(100_000)],
  ])("is not read from %s", (_, text) => {
    expect(readFingerprint(text)).toBeUndefined();
  });
});

describe("a search term", () => {
  const kinds: readonly TermKind[] = ["metadata", "index", "container", "email", "identity", "payment"];

  it("depends on the key, the kind, the name and the value", () => {
    const terms = [
      ...kinds.map((kind) => searchTerm(key, kind, "a", "b")),
      searchTerm(key, "metadata", "ab", ""),
      searchTerm(key, "metadata", "", "ab"),
      searchTerm(key, "metadata", "a", "B"),
      searchTerm(newKey(), "metadata", "a", "b"),
    ];
    expect(new Set(terms.map(hex)).size).toBe(terms.length);
    for (const term of terms) expect(term).toHaveLength(16);
  });
});

describe("a cursor", () => {
  const filter = ["token:read", "list", "metadata", "a", "b"];
  const at = new Date("2026-01-02T03:04:05.678Z");

  it("is read as it was written, whatever the id", () => {
    const time = fc.date({ min: new Date(0), max: new Date("9999-12-31"), noInvalidDate: true });
    const id = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(time, id, (createdAt, text) => {
        expect(readCursor(key, filter, writeCursor(key, filter, { createdAt, id: text }))).toEqual({
          createdAt,
          id: text,
        });
      }),
    );
  });

  it.each<[string, Parameters<typeof readCursor>[0], readonly string[]]>([
    ["another tenant", newKey(), filter],
    ["a shorter filter", key, filter.slice(0, -1)],
    ["a longer filter", key, [...filter, ""]],
    ["another filter", key, filter.with(3, "c")],
    ["a filter that joins to the same text", key, ["token:read", "list", "metadata", "ab", ""]],
    ["no filter", key, []],
  ])("is rejected for %s", (_, other, names) => {
    expect(readCursor(other, names, writeCursor(key, filter, { createdAt: at, id: "x" }))).toBeUndefined();
  });

  it("is rejected after a change of any of its bits, or if it is cut", () => {
    const bytes = Buffer.from(writeCursor(key, filter, { createdAt: at, id: "order-1" }), "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(readCursor(key, filter, changed.toString("base64url")), `bit ${bit}`).toBeUndefined();
    }
    for (let length = 0; length < bytes.length; length += 1) {
      expect(readCursor(key, filter, bytes.toString("base64url", 0, length))).toBeUndefined();
    }
  });

  it.each(["", "x", "=", "not base64 !", "A".repeat(10_000)])("is not read from %.20j", (text) => {
    expect(readCursor(key, filter, text)).toBeUndefined();
  });

  it("may be at any id, and says whether it is a UUID", () => {
    expect(isUuidPosition({ createdAt: at, id: "01890000-0000-7000-8000-000000000001" })).toBe(true);
    expect(isUuidPosition({ createdAt: at, id: "01890000-0000-7000-8000-00000000000G" })).toBe(false);
  });
});

describe("a MAC of a text that is handed out", () => {
  it("has 16 bytes and depends on each part", () => {
    const mac = truncatedMac(key, ["cloakroom/frame/1", "a", "b"]);
    expect(mac).toHaveLength(16);
    for (const parts of [
      ["cloakroom/frame/2", "a", "b"],
      ["cloakroom/frame/1", "ab", ""],
      ["cloakroom/frame/1", "a"],
    ]) {
      expect(truncatedMac(key, parts).equals(mac)).toBe(false);
    }
  });

  it("equals bytes of the same length only", () => {
    expect(macEquals(Buffer.from("abc"), Buffer.from("abc"))).toBe(true);
    expect(macEquals(Buffer.from("abc"), Buffer.from("abd"))).toBe(false);
    expect(macEquals(Buffer.from("abc"), Buffer.from("abcd"))).toBe(false);
    expect(macEquals(Buffer.from("abc"), Buffer.alloc(0))).toBe(false);
  });
});

describe("a sensitive value", () => {
  it("is redacted in every way to print it", () => {
    const value = new Sensitive({ number: "4242424242424242" });
    const printed = [
      ...[
        `${value}`,
        String(value),
        JSON.stringify({ value }),
        inspect(value),
        inspect({ deep: [value] }, { depth: 9 }),
      ],
      ...[new Error("broken", { cause: value })].map((error) => inspect(error, { showHidden: true })),
      ...[Object.entries(value).join(), JSON.stringify(structuredClone({ ...value }))],
    ];
    for (const text of printed) expect(text).not.toContain("4242");
    expect(printed[0]).toBe("[redacted]");
    expect(value.reveal()).toEqual({ number: "4242424242424242" });
  });

  it("is compared by its content", () => {
    expect(new Sensitive({ a: [1] }).equals(new Sensitive({ a: [1] }))).toBe(true);
    expect(new Sensitive({ a: [1] }).equals(new Sensitive({ a: [2] }))).toBe(false);
  });
});
