import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactUuid, expandUuid } from "../../src/base/compact-uuid.js";

/** Base62 by plain arithmetic. */
function base62(uuid: string): string {
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  let value = BigInt(`0x${uuid.replaceAll("-", "")}`);
  let text = "";
  for (let digit = 0; digit < 22; digit += 1, value /= 62n) text = alphabet.charAt(Number(value % 62n)) + text;
  return text;
}

describe("a UUID as 22 letters and digits", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        const text = base62(uuid);
        const id = expandUuid(text);
        expect(id).toBe(uuid);
        expect(id && compactUuid(id)).toBe(text);
      }),
    );
  });

  it.each([
    ["empty", ""],
    ["too short", "a".repeat(21)],
    ["too short by a leading zero", "1".padStart(21, "0")],
    ["too long", "a".repeat(23)],
    ["too long by a leading zero", "1".padStart(23, "0")],
    ["beyond 128 bits", "z".repeat(22)],
    ["no letter or digit at its end", `${"a".repeat(21)}-`],
    ["no letter or digit", "!".repeat(22)],
  ])("is no id if it is %s", (_, text) => {
    expect(expandUuid(text)).toBeUndefined();
  });
});
