import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quotedName } from "../../src/tenancy/quoted-name.js";

describe("a tenant's name in a message", () => {
  it.each([
    ["Müller & Söhne", "“Müller & Söhne”"],
    ["Acme, Inc. (EU)", "“Acme, Inc. (EU)”"],
    ["株式会社トヨタ", "“株式会社トヨタ”"],
    ["Pay now: https://evil.example/pay?x=1", "“Pay now https evil example pay x 1”"],
    ["write to eve@evil.example", "“write to eve evil example”"],
    ["evil．example and evil。example", "“evil example and evil example”"],
    ["one\r\nBcc: eve\u2028two", "“one Bcc eve two”"],
    ["abc\u202Etxt.exe\u200B\u2066", "“abc txt exe”"],
    ["”. Your account is closed. “", "“. Your account is closed.”"],
    ["Z\u0300\u0301\u0302\u0303\u0304a", "“Z\u0300\u0301a”"],
    ["\u200B\u0007", "“unnamed”"],
    ["x".repeat(200), `“${"x".repeat(60)}…”`],
  ])("%j is shown as %j", (name, shown) => {
    expect(quotedName(name)).toBe(shown);
  });

  it("is one short line without hosts, addresses, quotes and hidden characters, whatever it is", () => {
    const name = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 200 }),
      fc.string({ unit: "binary", maxLength: 200 }),
      fc
        .array(
          fc.constantFrom("a", "evil", ".", "。", "@", ":", "/", " ", "\u202e", "\r\n", "“", "”", '"', "<b>", "www"),
        )
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(name, (text) => {
        const inner = /^“(.*)”$/su.exec(quotedName(text))?.[1] ?? "“";
        expect(inner).not.toMatch(/[\p{C}\p{Zl}\p{Zp}“”"<>@:/\\]|[.](?=[\p{L}\p{N}])|\p{M}{5}/u);
        expect([...new Intl.Segmenter().segment(inner)].length).toBeLessThanOrEqual(61);
      }),
      { numRuns: 500 },
    );
  });
});
