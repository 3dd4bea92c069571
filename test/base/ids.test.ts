import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase58, fromBase62, toBase58, toBase62 } from "../../src/base/base-n.js";
import { isUuid, newTenantId, newUuid, parseUuid, timeOfUuid, VAULT_TENANT_ID } from "../../src/base/ids.js";

describe("a new id", () => {
  it("is a UUID of version 7 in lower case that follows all earlier ones, also within a millisecond", () => {
    // More than the 4,096 of one millisecond.
    const ids = Array.from({ length: 20_000 }, newUuid);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("ends with 62 random bits, all of which vary", () => {
    const tails = Array.from({ length: 2_000 }, () => BigInt(`0x${newUuid().slice(19).replace("-", "")}`));
    for (let bit = 0n; bit < 62n; bit += 1n) {
      const ones = tails.filter((tail) => (tail >> bit) & 1n).length;
      // Of 2,000 fair bits fewer than 800 or more than 1,200 are ones once in 10^18 runs.
      expect(ones).toBeGreaterThan(800);
      expect(ones).toBeLessThan(1_200);
    }
  });

  it("says when it was made, and is never that of the vault itself", () => {
    const before = Date.now();
    const made = timeOfUuid(newUuid())?.getTime() ?? 0;
    expect(made).toBeGreaterThanOrEqual(before);
    expect(newTenantId() > VAULT_TENANT_ID).toBe(true);
    expect(timeOfUuid(VAULT_TENANT_ID)).toEqual(new Date(0));
  });

  it.each<[string, string | undefined]>([
    ["01890000-0000-7000-8000-00000000000A", "01890000-0000-7000-8000-00000000000a"],
    ["01890000-0000-4000-8000-000000000000", "01890000-0000-4000-8000-000000000000"],
    ["0189000000007000800000000000000a", undefined],
    ["{01890000-0000-7000-8000-00000000000a}", undefined],
    ["01890000-0000-7000-8000-00000000000g", undefined],
    ["01890000-0000-7000-8000-00000000000a\n", undefined],
    ["", undefined],
  ])("is read from %j as %s", (text, id) => {
    expect(parseUuid(text)).toBe(id);
    if (id === undefined) expect(isUuid(text)).toBe(false);
  });

  it("has no time if it is of another version", () => {
    const other = parseUuid("01890000-0000-4000-8000-000000000000") ?? expect.fail("it is a UUID");
    expect(timeOfUuid(other)).toBeUndefined();
  });
});

describe("bytes in letters and digits", () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((array) => Buffer.from(array));

  it("are read as they were written, in base62 of a fixed width and in base58", () => {
    fc.assert(
      fc.property(bytes, (given) => {
        const width = Math.ceil((given.length * 8) / Math.log2(62));
        const text = toBase62(given, width);
        expect(text).toMatch(new RegExp(`^[0-9A-Za-z]{${width}}$`));
        expect(fromBase62(text, given.length)?.equals(given)).toBe(true);
        const leading = Buffer.concat([Buffer.of(1), given]);
        expect(fromBase58(toBase58(leading), leading.length)?.equals(leading)).toBe(true);
      }),
    );
  });

  it("sort in base62 as the bytes do", () => {
    const same = fc.uint8Array({ minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(same, same, (one, other) => {
        const [first, second] = [toBase62(one, 22), toBase62(other, 22)];
        expect(Math.sign(Buffer.compare(Buffer.from(first), Buffer.from(second)))).toBe(Buffer.compare(one, other));
      }),
    );
  });

  it.each([
    ["another alphabet", "l0O", 16],
    ["a number that needs more bytes", "z".repeat(22), 16],
    ["a text that is far too long", "1".repeat(1_000_000), 16],
    ["blanks", " 1", 16],
  ])("are not read in base58 from %s", (_, text, size) => {
    expect(fromBase58(text, size)).toBeUndefined();
  });
});
