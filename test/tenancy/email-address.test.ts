import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEmailAddress } from "../../src/tenancy/email-address.js";

describe("an address", () => {
  it.each([
    ["ada@example.com", "ada@example.com"],
    ["o'hara+notes@example.com", "o'hara+notes@example.com"],
    ["owner@localhost", "owner@localhost"],
    ["ada@[192.0.2.1]", "ada@[192.0.2.1]"],
    ['"ada lovelace"@example.com', '"ada lovelace"@example.com'],
    ['"a\\"b\\\\c"@example.com', '"a\\"b\\\\c"@example.com'],
    ['"ada@home"@example.com', '"ada@home"@example.com'],
    // Unneeded quotes change nothing (RFC 5321, 4.1.2).
    ['"ada"@example.com', "ada@example.com"],
    ["(first)ada@example.com(work)", "ada@example.com"],
    [" ada@example.com ", "ada@example.com"],
  ])("%j is parsed as %j", (text, address) => {
    expect(parseEmailAddress(text)).toBe(address);
  });

  it.each([
    "",
    "ada",
    "ada@",
    "@example.com",
    "ada@@example.com",
    "ada..l@example.com",
    ".ada@example.com",
    "ada.@example.com",
    "ada@example..com",
    "ada@example.com.",
    "ada l@example.com",
    "ada@exam ple.com",
    "Ada <ada@example.com>",
    "<ada@example.com>",
    "ada@example.com, bob@example.com",
    "friends: ada@example.com;",
    '"ada@example.com',
    '"a"b"@example.com',
    "ädä@example.com",
    "ada@exämple.com",
    "ada@[192.0.2.1",
    '"ada\r\n l"@example.com',
    '"ada\u0000"@example.com',
    "ada@example.com\r\nBcc: eve@example.com",
  ])("%j is rejected", (text) => {
    expect(parseEmailAddress(text)).toBeUndefined();
  });

  it("is parsed the same when it is parsed again, and never contains a line end", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'ab."\\ @()<>,;:[]\r\n\t'.split("")), maxLength: 16 }),
        (text) => {
          const address = parseEmailAddress(`${text}@example.com`);
          if (address === undefined) return;
          expect(address).not.toMatch(/\p{Cc}/u);
          expect(parseEmailAddress(address)).toBe(address);
        },
      ),
      { numRuns: 2_000, examples: [['"\\ "'], ['"\\ \\ "'], ['"a\\ \\ b\\ "'], ['" a"']] },
    );
  });
});
