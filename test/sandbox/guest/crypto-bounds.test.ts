import * as node from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { exporting, openSandbox } from "../support/open-sandbox.js";

/**
 * Native code cannot be interrupted, so slow operations are rejected by their inputs. Each attack here once blocked a
 * thread for seconds to minutes; each must throw before anything is computed.
 */
const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

const guest = (expression: string, given: Record<string, Json> = {}) =>
  opened.value(`const crypto = require('crypto'); module.exports = async ({ g }) => (${expression});`, {
    args: { g: given },
  });
const message = async (expression: string, given: Record<string, Json> = {}): Promise<string> =>
  String(
    await guest(`(() => { try { return (${expression}, 'no error'); } catch (e) { return e.message; } })()`, given),
  );

// The parts of DER that forged keys need.
const lengthOf = (size: number): Buffer => {
  if (size < 0x80) return Buffer.from([size]);
  const bytes = Buffer.from(size.toString(16).padStart(size < 0x100 ? 2 : size < 0x10000 ? 4 : 6, "0"), "hex");
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
};
const element = (tag: number, content: Buffer) =>
  Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
const integer = (content: Buffer) => element(0x02, content);
const sequence = (...parts: Buffer[]) => element(0x30, Buffer.concat(parts));
const oid = (hex: string) => element(0x06, Buffer.from(hex, "hex"));
/** An odd number of this many bits. */
const number = (bits: number) => integer(Buffer.concat([Buffer.from([0]), Buffer.alloc(bits / 8, 0xff)]));
const small = (value: number) => integer(Buffer.from([value]));
const pem = (label: string, der: Buffer) =>
  `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;
const pkcs8 = (algorithm: Buffer, key: Buffer) => sequence(small(0), algorithm, element(0x04, key));
/** Indefinite length, which OpenSSL accepts as well. */
const indefinite = (content: Buffer) => Buffer.concat([Buffer.from([0x30, 0x80]), content, Buffer.from([0, 0])]);

const rsa = (bits: number) => sequence(small(0), ...Array.from({ length: 8 }, () => number(bits)));
const rsaOid = sequence(oid("2a864886f70d010101"), element(0x05, Buffer.alloc(0)));
const dsa = (bits: number) =>
  pkcs8(sequence(oid("2a8648ce380401"), sequence(number(bits), number(bits), small(3))), number(bits));
const dh = (bits: number) => pkcs8(sequence(oid("2a864886f70d010301"), sequence(number(bits), small(2))), number(bits));

const base64url = (bits: number) => Buffer.alloc(bits / 8, 0xff).toString("base64url");
const jwk = (bits: number) =>
  Object.fromEntries([
    ["kty", "RSA"],
    ["e", "AQAB"],
    ...["n", "d", "p", "q", "dp", "dq", "qi"].map((name) => [name, base64url(bits)]),
  ]);

describe("keys with excessive numbers are rejected before they are parsed", () => {
  test.each<[string, string, Record<string, Json>]>([
    ["RSA in PKCS#1", "crypto.sign('sha256', Buffer.from('x'), g.pem)", { pem: pem("RSA PRIVATE KEY", rsa(16_384)) }],
    [
      "RSA in PKCS#8",
      "crypto.sign('sha256', Buffer.from('x'), g.pem)",
      { pem: pem("PRIVATE KEY", pkcs8(rsaOid, rsa(8_192))) },
    ],
    ["RSA, to decrypt", "crypto.privateDecrypt(g.pem, Buffer.alloc(16))", { pem: pem("RSA PRIVATE KEY", rsa(8_192)) }],
    [
      "RSA, to encrypt privately",
      "crypto.privateEncrypt(g.pem, Buffer.alloc(16))",
      { pem: pem("RSA PRIVATE KEY", rsa(8_192)) },
    ],
    [
      "a small RSA modulus with large primes",
      "crypto.sign('sha256', Buffer.from('x'), g.pem)",
      {
        pem: pem(
          "RSA PRIVATE KEY",
          sequence(
            small(0),
            number(2_048),
            small(3),
            number(2_048),
            ...Array.from({ length: 5 }, () => number(16_384)),
          ),
        ),
      },
    ],
    [
      "RSA after other text and blocks",
      "crypto.createPrivateKey(g.pem)",
      {
        pem: `Bag Attributes\n${pem("EC PARAMETERS", oid("2a8648ce3d030107"))}${pem("RSA PRIVATE KEY", rsa(16_384))}`,
      },
    ],
    [
      "DSA, which computes while it is read",
      "crypto.createPrivateKey(g.pem)",
      { pem: pem("PRIVATE KEY", dsa(16_384)) },
    ],
    [
      "DSA in DER",
      "crypto.createPrivateKey({ key: Buffer.from(g.der, 'base64'), format: 'der', type: 'pkcs8' })",
      { der: dsa(16_384).toString("base64") },
    ],
    [
      "DSA where a public key is wanted",
      "crypto.createPublicKey({ key: Buffer.from(g.der, 'base64'), format: 'der', type: 'pkcs8' })",
      { der: dsa(16_384).toString("base64") },
    ],
    ["Diffie-Hellman", "crypto.createPrivateKey(g.pem)", { pem: pem("PRIVATE KEY", dh(8_192)) }],
    ["RSA as a JWK", "crypto.sign('sha256', Buffer.from('x'), { key: g.jwk, format: 'jwk' })", { jwk: jwk(16_384) }],
    [
      "an RSA public key",
      "crypto.publicEncrypt(g.pem, Buffer.from('x'))",
      { pem: pem("RSA PUBLIC KEY", sequence(number(16_384), small(3))) },
    ],
    [
      "an RSA public key as a JWK",
      "crypto.createPublicKey({ key: g.jwk, format: 'jwk' })",
      { jwk: { kty: "RSA", n: base64url(16_384), e: "AQAB" } },
    ],
  ])("%s", async (_name, expression, given) => {
    expect(await message(expression, given)).toMatch(/^A key may have numbers of at most (4096|8192) bits here\.$/);
  });

  test.each<[string, string, Record<string, Json>, RegExp]>([
    [
      "DSA in BER of indefinite length",
      "crypto.createPrivateKey({ key: Buffer.from(g.der, 'base64'), format: 'der', type: 'pkcs8' })",
      {
        der: indefinite(dsa(16_384).subarray(4)).toString("base64"),
      },
      /unsupported/,
    ],
    [
      "BER inside a PEM",
      "crypto.createPrivateKey(g.pem)",
      { pem: pem("PRIVATE KEY", indefinite(dsa(16_384).subarray(4))) },
      /unsupported/,
    ],
    [
      "an RSA key of a hundred primes",
      "crypto.createPrivateKey(g.pem)",
      {
        pem: pem("RSA PRIVATE KEY", sequence(small(1), ...Array.from({ length: 100 }, () => number(2_048)))),
      },
      /too many parts/,
    ],
    ["a text of a megabyte", "crypto.createPrivateKey('x'.repeat(1e6))", {}, /at most 65536 characters/],
    ["a signature of hashes", "crypto.generateKeyPairSync('slh-dsa-shake-256s')", {}, /Key pairs can be generated for/],
    ["keys with a passphrase", "crypto.createPrivateKey({ key: g.pem, passphrase: 'x' })", { pem: "x" }, /passphrase/],
  ])("%s", async (_name, expression, given, expected) => {
    expect(await message(expression, given)).toMatch(expected);
  });

  test("keys of types that Node.js v16 does not know are rejected, too", async () => {
    const { privateKey } = node.generateKeyPairSync("slh-dsa-sha2-128f");
    const given = { pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
    expect(await message("crypto.sign(null, Buffer.from('x'), g.pem)", given)).toBe(
      "Keys of type slh-dsa-sha2-128f are not supported here.",
    );
  });
});

describe("expensive computations are rejected", () => {
  test.each([
    [
      "PBKDF2 of two million rounds",
      "crypto.pbkdf2Sync('p', 's', 2_000_001, 20, 'sha256')",
      /"iterations" is out of range/,
    ],
    [
      "PBKDF2 with a slow hash",
      "crypto.pbkdf2Sync('p', 's', 1_000_001, 64, 'blake2b512')",
      /"iterations" is out of range/,
    ],
    ["PBKDF2 of many blocks", "crypto.pbkdf2Sync('p', 's', 100_000, 1_024, 'md5')", /must be <= 15625/],
    [
      "PBKDF2 with a long salt",
      "crypto.pbkdf2Sync('p', Buffer.alloc(1e6), 1, 1_024, 'md5')",
      /"salt" may have at most 16384 bytes/,
    ],
    [
      "scrypt with much memory",
      "crypto.scryptSync('p', 's', 64, { N: 2 ** 20, r: 64, p: 16, maxmem: 2 ** 40 })",
      /too much work/,
    ],
    [
      "scrypt with a long salt",
      "crypto.scryptSync('p', Buffer.alloc(1e6), 64, { N: 2, r: 64, p: 16 })",
      /"salt" may have at most 16384 bytes/,
    ],
    ["HKDF beyond its standard", "crypto.hkdfSync('sha512', 'k', 's', 'i', 1e6)", /"keylen" is out of range/],
    ["SHAKE without end", "crypto.createHash('shake256', { outputLength: 2 ** 30 })", /"outputLength" is out of range/],
    [
      "RSA of 8,192 bits",
      "crypto.generateKeyPairSync('rsa', { modulusLength: 8_192 })",
      /"modulusLength" is out of range/,
    ],
    [
      "a large even exponent",
      "crypto.generateKeyPairSync('rsa', { modulusLength: 2_048, publicExponent: 65_538 })",
      /must be odd/,
    ],
    [
      "key wrapping of a megabyte",
      "(() => { const c = crypto.createCipheriv('aes256-wrap', Buffer.alloc(32), Buffer.alloc(8, 0xa6)); c.update(Buffer.alloc(2 ** 20)); })()",
      /at most 65536 bytes at a time/,
    ],
    [
      "CCM of 16 MB",
      "(() => { const c = crypto.createCipheriv('aria-256-ccm', Buffer.alloc(32), Buffer.alloc(12), { authTagLength: 16 }); c.update(Buffer.alloc(2 ** 24)); })()",
      /at most 8388608 bytes at a time/,
    ],
  ])("%s", async (_name, expression, expected) => {
    expect(await message(expression)).toMatch(expected);
  });

  test("RSA keys are generated in steps, between which the run can be ended", async () => {
    const code = exporting("() => { for (;;) require('crypto').generateKeyPairSync('rsa', { modulusLength: 4096 }); }");
    expect(await opened.run(code, { limits: { wallMs: 1_500 } })).toMatchObject({ kind: "failed", reason: "timeout" });
    expect(opened.sandbox.metrics).toMatchObject({ threadsEnded: 0, runnersEnded: 0 });
  });
});

describe("ordinary code works", () => {
  test("RSA of 4,096 bits: key generation, signing, decrypting, in all forms", async () => {
    const made = Object(
      await guest(
        `await (async () => {
          const { privateKey, publicKey } = await new Promise((ok, no) => crypto.generateKeyPair("rsa", { modulusLength: 4096 }, (e, publicKey, privateKey) => (e ? no(e) : ok({ publicKey, privateKey }))));
          const signature = crypto.sign('sha256', Buffer.from('x'), privateKey);
          const hidden = crypto.publicEncrypt(publicKey, Buffer.from('hidden'));
          return {
            signature: signature.toString('base64'),
            opened: crypto.privateDecrypt(privateKey, hidden).toString(),
            bits: privateKey.asymmetricKeyDetails.modulusLength,
            pem: privateKey.export({ type: 'pkcs1', format: 'pem' }),
            again: ['pkcs1', 'pkcs8'].map((type) => crypto.createPrivateKey({ key: privateKey.export({ type, format: 'der' }), type, format: 'der' }).equals(privateKey)),
            jwk: crypto.createPrivateKey({ key: privateKey.export({ format: 'jwk' }), format: 'jwk' }).equals(privateKey),
          };
        })()`,
      ),
    );
    expect(made).toMatchObject({ opened: "hidden", bits: 4_096, again: [true, true], jwk: true });
    const key = node.createPrivateKey(made.pem);
    expect(
      node.verify("sha256", Buffer.from("x"), node.createPublicKey(key), Buffer.from(made.signature, "base64")),
    ).toBe(true);
    expect(node.sign("sha256", Buffer.from("x"), key).toString("base64")).toBe(made.signature);
  });

  test.each([
    [512, 3],
    [1_024, 17],
    [2_048, 65_537],
    [3_072, 65_537],
  ])("RSA keys of %i bits with the exponent %i work", async (bits, exponent) => {
    const text = String(
      await guest(
        `crypto.generateKeyPairSync('rsa', { modulusLength: ${bits}, publicExponent: ${exponent}, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } }).privateKey`,
      ),
    );
    const key = node.createPrivateKey(text);
    expect(key.asymmetricKeyDetails).toMatchObject({ modulusLength: bits, publicExponent: BigInt(exponent) });
    const { n = "", p = "", q = "", d = "", e = "", dp = "", dq = "", qi = "" } = key.export({ format: "jwk" });
    const value = (base64: string) => BigInt(`0x${Buffer.from(base64, "base64url").toString("hex")}`);
    const [P, Q, D, E] = [value(p), value(q), value(d), value(e)];
    expect([node.checkPrimeSync(P), node.checkPrimeSync(Q), P !== Q, P * Q === value(n)]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([(E * D) % (P - 1n), (E * D) % (Q - 1n)]).toEqual([1n, 1n]);
    expect([value(dp), value(dq), (value(qi) * Q) % P]).toEqual([D % (P - 1n), D % (Q - 1n), 1n]);
  });

  test("signatures by RSA keys of 8,192 bits are verified", async () => {
    const given = { pem: pem("RSA PUBLIC KEY", sequence(number(8_192), integer(Buffer.from([1, 0, 1])))) };
    expect(await guest("crypto.verify('sha256', Buffer.from('x'), g.pem, Buffer.alloc(1024, 1))", given)).toBe(false);
  });

  test("keys of all other types are parsed", async () => {
    const pairs = [
      node.generateKeyPairSync("dsa", { modulusLength: 2_048, divisorLength: 256 }),
      node.generateKeyPairSync("rsa-pss", { modulusLength: 2_048 }),
      diffieHellmanPair(),
      node.generateKeyPairSync("ec", { namedCurve: "secp521r1", paramEncoding: "explicit" }),
      node.generateKeyPairSync("ec", { namedCurve: "sect571r1" }),
      node.generateKeyPairSync("ed448"),
      node.generateKeyPairSync("x448"),
    ];
    const given = {
      pairs: pairs.map(({ privateKey, publicKey }) => [
        privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
        publicKey.export({ type: "spki", format: "pem" }).toString(),
      ]),
    };
    expect(
      await guest(
        "g.pairs.map(([a, b]) => [crypto.createPrivateKey(a).asymmetricKeyType, crypto.createPublicKey(b).asymmetricKeyType, crypto.createPublicKey(a).asymmetricKeyType])",
        given,
      ),
    ).toEqual(["dsa", "rsa-pss", "dh", "ec", "ec", "ed448", "x448"].map((type) => [type, type, type]));
  });

  test("EC keys whose secret looks like DER are parsed", async () => {
    const scalar = Buffer.concat([Buffer.from([0x30]), Buffer.alloc(31, 7)]);
    const ecdh = node.createECDH("prime256v1");
    ecdh.setPrivateKey(scalar);
    const jwk = {
      kty: "EC",
      crv: "P-256",
      d: scalar.toString("base64url"),
      x: ecdh.getPublicKey().subarray(1, 33).toString("base64url"),
      y: ecdh.getPublicKey().subarray(33).toString("base64url"),
    };
    const text = node.createPrivateKey({ key: jwk, format: "jwk" }).export({ type: "pkcs8", format: "pem" }).toString();
    expect(await guest("crypto.createPrivateKey(g.text).asymmetricKeyType", { text })).toBe("ec");
  });

  test.each([
    ["the public key of a certificate", "crypto.createPublicKey(g.certificate).asymmetricKeyType", "ec"],
    ["the rounds that are recommended for SHA-1", "crypto.pbkdf2Sync('p', 's', 1_300_000, 20, 'sha1').length", 20],
    ["a hash by its other name", "crypto.pbkdf2Sync('p', 's', 100_000, 32, 'SHA-256').length", 32],
    ["scrypt of 32 MB", "crypto.scryptSync('p', 's', 32, { N: 2 ** 15 }).length", 32],
    ["HKDF of its largest output", "crypto.hkdfSync('sha256', 'k', 's', 'i', 255 * 32).byteLength", 8_160],
    [
      "a cipher of 3 MB",
      "(() => { const c = crypto.createCipheriv('aes-256-cbc', Buffer.alloc(32), Buffer.alloc(16)); return Buffer.concat([c.update(Buffer.alloc(3e6)), c.final()]).length; })()",
      3_000_000 + 16 - (3_000_000 % 16),
    ],
    [
      "a cipher's properties",
      "crypto.getCipherInfo('aes-256-gcm')",
      { mode: "gcm", name: "id-aes256-GCM", nid: 901, blockSize: 1, ivLength: 12, keyLength: 32 },
    ],
  ])("%s", async (_name, expression, expected) => {
    const certificate = await certificateOf();
    const actual = await guest(expression, { certificate });
    if (typeof expected === "object")
      expect(actual).toMatchObject(JSON.parse(JSON.stringify(node.getCipherInfo("aes-256-gcm"))));
    else expect(actual).toBe(expected);
  });
});

/** The types that come with Node do not include this type of key. */
function diffieHellmanPair(): node.KeyPairKeyObjectResult {
  return Reflect.apply(node.generateKeyPairSync, node, ["dh", { group: "modp14" }]);
}

async function certificateOf(): Promise<string> {
  const { createAuthority } = await import("../../egress/certificates.js");
  const authority = await createAuthority();
  return authority.pem;
}
