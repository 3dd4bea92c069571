import { createSecretKey, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newTenantId } from "../../src/base/ids.js";
import {
  type AadValue,
  encodeAad,
  type KeyVersions,
  KeyVersionUnknown,
  open,
  SealBroken,
  type SealContext,
  seal,
} from "../../src/crypto/sealed.js";
import { openName, sealName } from "../../src/crypto/sealed-name.js";
import { newTenantKeys, newVersions } from "../support/tenant-keys.js";

const keys = newVersions();
const place: SealContext = { tenantId: newTenantId(), entity: "order-1", field: "data", bound: "card" };
const secret = Buffer.from("4242424242424242");
const sealed = seal(keys, place, secret);

/** Format, key version and nonce, and the tag behind the ciphertext. */
const OVERHEAD = 33;

describe("a sealed value", () => {
  it("opens under the place it was sealed for, whatever it is", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), fc.string(), (plaintext, entity, field) => {
        const here = { ...place, entity, field };
        const text = seal(keys, here, plaintext);
        expect(text).toHaveLength(plaintext.length + OVERHEAD);
        expect(open(keys, here, text).equals(plaintext)).toBe(true);
      }),
    );
  });

  it("is different each time, and does not contain the value", () => {
    const all = Array.from({ length: 100 }, () => seal(keys, place, secret).toString("hex"));
    expect(new Set(all.map((text) => text.slice(10))).size).toBe(100);
    for (const text of all) expect(text).not.toContain(secret.toString("hex"));
  });

  it.each<[string, Partial<SealContext>]>([
    ["tenant", { tenantId: newTenantId() }],
    ["entity", { entity: "order-2" }],
    ["field", { field: "attributes" }],
    ["entity and field, written together", { entity: "order-1data", field: "" }],
    ["bound columns", { bound: "bank" }],
  ])("does not open under another %s", (_, change) => {
    const there: SealContext = { ...place, ...change };
    expect(() => open(keys, there, sealed)).toThrow(SealBroken);
  });

  it("does not open with another key of the same version", () => {
    expect(() => open(newVersions(), place, sealed)).toThrow(SealBroken);
  });

  it("does not open after a change of any single bit", () => {
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => open(keys, place, changed), `bit ${bit}`).toThrow(SealBroken);
    }
  });

  it("does not open if it is cut, or if anything follows it", () => {
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => open(keys, place, sealed.subarray(0, length))).toThrow(SealBroken);
    }
    expect(() => open(keys, place, Buffer.concat([sealed, Buffer.of(0)]))).toThrow(SealBroken);
  });

  it("is refused by its format's number if that is another one, and never guessed", () => {
    for (let format = 0; format < 256; format += 1) {
      if (format === 1) continue;
      const other = Buffer.concat([Buffer.of(format), sealed.subarray(1)]);
      expect(() => open(keys, place, other)).toThrow(SealBroken);
      expect(() => open(keys, place, other)).toThrow(`a sealed value has the format ${format};`);
    }
  });

  it("is not opened with columns left out that it is bound to, nor with columns that it is not bound to", () => {
    const { bound, ...free } = place;
    expect(() => open(keys, free, sealed)).toThrow(SealBroken);
    expect(() => open(keys, { ...free, bound: bound ?? "" }, seal(keys, free, secret))).toThrow(SealBroken);
    expect(() => open(keys, { ...free, bound: "" }, seal(keys, free, secret))).toThrow(SealBroken);
  });

  it("is changed neither by opening nor by failing to open", () => {
    const before = Buffer.from(sealed);
    open(keys, place, sealed);
    expect(() => open(keys, { ...place, field: "cvc" }, sealed)).toThrow();
    expect(sealed.equals(before)).toBe(true);
  });

  it("says nothing about the part that did not match", () => {
    const messages = [
      { ...place, field: "cvc" },
      { ...place, entity: "x" },
    ].map((there) => {
      try {
        return open(keys, there, sealed);
      } catch (error) {
        return String(error);
      }
    });
    expect(new Set(messages).size).toBe(1);
  });
});

describe("a key that was rotated", () => {
  const [first, second] = [1, 2].map(() => createSecretKey(randomBytes(32)));
  if (!first || !second) throw new Error("there are no keys");
  const before: KeyVersions = { current: 1, byVersion: new Map([[1, first]]) };
  const byVersion = new Map([
    [1, first],
    [2, second],
  ]);
  const after: KeyVersions = { current: 2, byVersion };

  it("opens its older values, and seals new ones that the older key does not open", () => {
    expect(open(after, place, seal(before, place, secret)).equals(secret)).toBe(true);
    const renewed = seal(after, place, secret);
    expect(renewed.readUInt32BE(1)).toBe(2);
    expect(() => open(before, place, renewed)).toThrow(KeyVersionUnknown);
  });

  it("does not open a value that claims to be of another version", () => {
    const forged = seal(before, place, secret);
    forged.writeUInt32BE(2, 1);
    expect(() => open(after, place, forged)).toThrow(SealBroken);
    forged.writeUInt32BE(9, 1);
    expect(() => open(after, place, forged)).toThrow(KeyVersionUnknown);
  });
});

describe("the columns that a value is bound to", () => {
  const row = {
    ...{ type: "card", count: 1, active: true, name: null, at: new Date("2026-01-01"), hash: Buffer.from([1, 2]) },
    list: ["a", "b"],
  };
  const columns = ["type", "count", "active", "name", "at", "hash", "list"] as const;

  it.each<[string, Partial<Record<(typeof columns)[number], AadValue>>]>([
    ["a text", { type: "bank" }],
    ["a number", { count: 2 }],
    ["a switch", { active: false }],
    ["null that becomes an empty text", { name: "" }],
    ["a time, by a millisecond", { at: new Date("2026-01-01T00:00:00.001Z") }],
    ["bytes", { hash: Buffer.from([1, 3]) }],
    ["one more entry of a list", { list: ["a", "b", ""] }],
    ["the order of a list", { list: ["b", "a"] }],
    ["entries that are joined", { list: ["a,b"] }],
  ])("differ by %s", (_, change) => {
    const changed: Record<(typeof columns)[number], AadValue> = { ...row, ...change };
    expect(encodeAad(changed, columns)).not.toBe(encodeAad<(typeof columns)[number]>(row, columns));
  });

  it("are the same for the same values in other objects", () => {
    const same = { ...row, at: new Date(row.at), hash: Uint8Array.from(row.hash), list: [...row.list] };
    expect(encodeAad<(typeof columns)[number]>(same, columns)).toEqual(
      encodeAad<(typeof columns)[number]>(row, columns),
    );
  });
});

describe("the name of an entity", () => {
  it("is sealed, and bound to the entity", () => {
    const tenant = newTenantKeys();
    const name = sealName(tenant, "x", "Müller & Söhne");
    expect(openName(tenant, "x", name)).toBe("Müller & Söhne");
    expect(() => openName(tenant, "y", name)).toThrow(SealBroken);
  });
});
