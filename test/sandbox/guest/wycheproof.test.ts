import { existsSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.js";
import { openSandbox } from "../support/open-sandbox.js";

/**
 * Vectors for the algorithms of the guest's `crypto`: those of Project Wycheproof if the folder of published data is
 * there, and a few built-in ones always. The guest computes the verdict, and returns the vectors with a different
 * result.
 */
const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

interface Vector extends JsonObject {
  readonly tcId: number;
  readonly result: "valid" | "invalid";
}

/** The body of `agrees(v)`: whether the computation gives the vector's result. It may throw for an invalid one. */
const checks: Readonly<Record<string, string>> = {
  "AES-GCM": `
    const name = 'aes-' + v.key.length * 4 + '-gcm';
    const d = crypto.createDecipheriv(name, hex(v.key), hex(v.iv));
    d.setAAD(hex(v.aad));
    d.setAuthTag(hex(v.tag));
    if (d.update(v.ct, 'hex', 'hex') + d.final('hex') !== v.msg) return false;
    const c = crypto.createCipheriv(name, hex(v.key), hex(v.iv));
    c.setAAD(hex(v.aad));
    return c.update(v.msg, 'hex', 'hex') + c.final('hex') === v.ct && c.getAuthTag().toString('hex') === v.tag;`,
  "HKDF-SHA-256": `
    return Buffer.from(crypto.hkdfSync('sha256', hex(v.ikm), hex(v.salt), hex(v.info), v.size)).toString('hex') === v.okm;`,
  HMACSHA256: `
    const mac = crypto.createHmac('sha256', hex(v.key)).update(hex(v.msg)).digest();
    return crypto.timingSafeEqual(mac.subarray(0, v.tag.length / 2), hex(v.tag));`,
};

/** @returns the numbers of the vectors whose verdict differs from the published one. */
const disagreements = (algorithm: string, vectors: readonly Vector[]) =>
  opened.value(
    `const crypto = require('crypto');
     const hex = (text) => Buffer.from(text, 'hex');
     const agrees = (v) => {${checks[algorithm]}};
     const isValid = (v) => { try { return agrees(v); } catch { return false; } };
     module.exports = ({ vectors }) => vectors.filter((v) => isValid(v) !== (v.result === 'valid')).map((v) => v.tcId);`,
    { args: { vectors: [...vectors] } },
  );

describe("built-in vectors", () => {
  test.each<[string, string, Vector]>([
    [
      "The Galois/Counter Mode of Operation, test case 16",
      "AES-GCM",
      {
        tcId: 1,
        key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        iv: "cafebabefacedbaddecaf888",
        aad: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        msg: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        ct: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
        tag: "76fc6ece0f4e1768cddf8853bb2d551b",
        result: "valid",
      },
    ],
    [
      "RFC 5869, test case 1",
      "HKDF-SHA-256",
      {
        tcId: 2,
        ikm: "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
        salt: "000102030405060708090a0b0c",
        info: "f0f1f2f3f4f5f6f7f8f9",
        size: 42,
        okm: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        result: "valid",
      },
    ],
    [
      "RFC 4231, test case 2",
      "HMACSHA256",
      {
        tcId: 3,
        key: "4a656665",
        msg: "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        tag: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        result: "valid",
      },
    ],
  ])("%s", async (_source, algorithm, vector) => {
    expect(await disagreements(algorithm, [vector])).toEqual([]);
    // The same with one changed digit is no longer valid, and the check detects it.
    const result = algorithm === "HKDF-SHA-256" ? "okm" : "tag";
    const tampered = {
      ...vector,
      [result]: String(vector[result]).replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
    };
    expect(await disagreements(algorithm, [tampered])).toEqual([vector.tcId]);
    expect(await disagreements(algorithm, [{ ...tampered, result: "invalid" }])).toEqual([]);
  });
});

describe("vectors of Project Wycheproof", () => {
  test.each(["aes_gcm", "hkdf_sha256", "hmac_sha256"])("%s", async (name) => {
    const file = `../shared/data/wycheproof-${name}.json`;
    if (!existsSync(file)) {
      console.warn(`published data absent: ${file}; the sandbox's crypto is checked by the typed-in vectors alone`);
      expect(Object.keys(checks)).toHaveLength(3);
      return;
    }
    const published: {
      readonly algorithm: string;
      readonly numberOfTests: number;
      readonly testGroups: readonly { readonly tests: readonly Vector[] }[];
    } = JSON.parse(readFileSync(file, "utf8"));
    const vectors = published.testGroups.flatMap(({ tests }) => tests);
    expect(vectors).toHaveLength(published.numberOfTests);
    // OpenSSL rejects IVs of more than 128 bytes, as Wycheproof's note on its flag LongIv expects of some
    // implementations.
    const refused = vectors.filter(({ iv }) => typeof iv === "string" && iv.length > 2 * 128);
    expect(await disagreements(published.algorithm, vectors)).toEqual(refused.map(({ tcId }) => tcId));
  });
});
