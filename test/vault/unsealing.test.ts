import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { LocalRootKey } from "../../src/crypto/local-root-key.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { splitRootKey } from "../../src/crypto/shares.js";
import { type KeyInShares, ShareCollector, type UnsealedKey } from "../../src/vault/unsealing.js";

const ID = "00112233445566ff";
const newKey = () => new LocalRootKey(ID, new Sensitive(randomBytes(32)));

/** A collector for shares of this key, and the keys that it completed. */
function collectorFor(key: LocalRootKey) {
  const found: UnsealedKey[] = [];
  const secret = key.export().reveal().toString("hex");
  const needed: KeyInShares = {
    ...{ id: ID, threshold: undefined, isReplaced: false },
    fits: async (other) => other instanceof LocalRootKey && other.export().reveal().toString("hex") === secret,
  };
  return { found, collector: new ShareCollector([needed], (keys) => found.push(...keys)) };
}

const split = (key: LocalRootKey, shares: number, threshold: number) => splitRootKey(key, { shares, threshold });
const at = (texts: readonly Sensitive<string>[], index: number) => texts[index] ?? new Sensitive("");

describe("shares of several splits of one key", () => {
  it("are kept separately, and the first complete split counts", async () => {
    const key = newKey();
    const [first, second] = [await split(key, 5, 3), await split(key, 2, 2)];
    const { collector, found } = collectorFor(key);
    expect(await collector.take(at(first, 0))).toEqual({ held: 1, needed: 3, apart: 0, unsealed: false });
    expect(await collector.take(at(second, 0))).toEqual({ held: 1, needed: 2, apart: 1, unsealed: false });
    expect(await collector.take(at(first, 1))).toEqual({ held: 2, needed: 3, apart: 1, unsealed: false });
    expect(await collector.take(at(second, 1))).toEqual({ held: 2, needed: 2, apart: 0, unsealed: true });
    expect(found).toHaveLength(1);
    expect(await collector.take(at(first, 2))).toMatchObject({ unsealed: true });
  });

  it("are the only ones dropped if they belong to another key", async () => {
    const key = newKey();
    const [right, wrong] = [await split(key, 2, 2), await split(newKey(), 2, 2)];
    const { collector, found } = collectorFor(key);
    await collector.take(at(right, 0));
    await collector.take(at(wrong, 0));
    expect((await collector.take(at(wrong, 1))).problem).toContain("do not give the root key of this database");
    expect(await collector.take(at(right, 1))).toMatchObject({ held: 2, needed: 2, unsealed: true });
    expect(found).toHaveLength(1);
  });

  it("are dropped and can be submitted again if they do not fit, because one was forged", async () => {
    const key = newKey();
    const texts = await split(key, 3, 2);
    const { collector } = collectorFor(key);
    await collector.take(at(texts, 0));
    // Another part with the number of the first share, which the parts of one split never have.
    const forged = forge(at(texts, 0));
    expect((await collector.take(forged)).problem).toContain("All were dropped");
    await collector.take(at(texts, 0));
    expect(await collector.take(at(texts, 1))).toMatchObject({ unsealed: true });
  });

  it("are forgotten, oldest first, if shares of very many splits are submitted", async () => {
    const key = newKey();
    const { collector } = collectorFor(key);
    for (let time = 0; time < 40; time += 1) {
      const { apart } = await collector.take(at(await split(key, 2, 2), 0));
      expect(apart).toBeLessThan(16);
    }
    const good = await split(key, 2, 2);
    await collector.take(at(good, 0));
    expect(await collector.take(at(good, 1))).toMatchObject({ unsealed: true });
  });
});

/** A share with the same number and another content, and the right checksum. */
function forge(share: Sensitive<string>): Sensitive<string> {
  const fields = share.reveal().split(".");
  const part = Buffer.from(fields[4] ?? "", "base64url");
  part[0] = (part[0] ?? 0) ^ 1;
  const text = [...fields.slice(0, 4), part.toString("base64url")].join(".");
  return new Sensitive(`${text}.${createHash("sha256").update(text).digest("hex").slice(0, 8)}`);
}
