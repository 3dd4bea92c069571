import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LocalRootKey } from "../../src/crypto/local-root-key.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { readShare, ShareCollection, splitRootKey } from "../../src/crypto/shares.js";

const newKey = (id = "00112233445566ff") => new LocalRootKey(id, new Sensitive(randomBytes(32)));
const CONTEXT = Buffer.from("context");

describe("shares of a root key", () => {
  it("recover it, any k of them, in any order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 9 }), fc.integer({ min: 2, max: 9 }), fc.nat(), async (a, b, turn) => {
        const [threshold, shares] = a < b ? [a, b] : [b, a];
        const key = newKey();
        const wrapped = await key.wrap(Buffer.from("secret"), CONTEXT);
        const texts = await splitRootKey(key, { shares, threshold });
        const order = texts.map((_, index) => texts[(index + turn) % shares] ?? new Sensitive(""));
        const collection = new ShareCollection(key.id);
        for (const text of order.slice(0, threshold - 1)) expect(await collection.add(readShare(text))).toBeUndefined();
        expect(collection.held).toBe(threshold - 1);
        const found = await collection.add(readShare(order[threshold - 1] ?? new Sensitive("")));
        expect((await found?.unwrap(wrapped, CONTEXT))?.toString()).toBe("secret");
      }),
      { numRuns: 15 },
    );
  });

  it("count once, however often they are submitted", async () => {
    const key = newKey();
    const [one = new Sensitive("")] = await splitRootKey(key, { shares: 3, threshold: 2 });
    const collection = new ShareCollection(key.id);
    for (let time = 0; time < 3; time += 1) expect(await collection.add(readShare(one))).toBeUndefined();
    expect(collection.held).toBe(1);
  });

  it("with a typing mistake are identified one by one", async () => {
    const [share] = await splitRootKey(newKey(), { shares: 3, threshold: 2 });
    const text = share?.reveal() ?? "";
    fc.assert(
      fc.property(fc.nat({ max: text.length - 1 }), fc.constantFrom("a", "Z", "7", ".", " "), (at, letter) => {
        const typed = text.slice(0, at) + letter + text.slice(at + 1);
        if (typed.trim() === text) return;
        expect(() => readShare(new Sensitive(typed))).toThrow(expect.objectContaining({ name: "ShareError" }));
      }),
    );
  });

  it("do not fit if they belong to another key, or to another split of the same key", async () => {
    const key = newKey();
    const [mine, other] = [
      await splitRootKey(key, { shares: 2, threshold: 2 }),
      await splitRootKey(key, { shares: 2, threshold: 2 }),
    ];
    const strange = await splitRootKey(newKey("ffeeddccbbaa9988"), { shares: 2, threshold: 2 });
    const collection = new ShareCollection(key.id);
    await collection.add(readShare(mine[0] ?? new Sensitive("")));
    await expect(collection.add(readShare(strange[0] ?? new Sensitive("")))).rejects.toThrow(
      "This share is of the root key ffeeddccbbaa9988; 00112233445566ff is needed.",
    );
    await expect(collection.add(readShare(other[1] ?? new Sensitive("")))).rejects.toThrow("from a different split");
    expect(await collection.add(readShare(mine[1] ?? new Sensitive("")))).toBeDefined();
  });
});
