import * as node from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { openSandbox } from "../support/open-sandbox.js";

/**
 * The same expression runs in the guest and here, with Node's own crypto: both results must be equal. Random values are
 * created on one side and checked on the other.
 */
const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

const rsa = node.generateKeyPairSync("rsa", { modulusLength: 2048 });
const ec = node.generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed = node.generateKeyPairSync("ed25519");
const pem = (key: node.KeyObject) =>
  key.export({ type: key.type === "private" ? "pkcs8" : "spki", format: "pem" }).toString();
const keys: Record<string, string> = {
  rsaPrivate: pem(rsa.privateKey),
  rsaPublic: pem(rsa.publicKey),
  ecPrivate: pem(ec.privateKey),
  ecPublic: pem(ec.publicKey),
  edPrivate: pem(ed.privateKey),
  edPublic: pem(ed.publicKey),
};

const guest = (expression: string, given: Record<string, Json> = {}) =>
  opened.value(`const crypto = require('crypto'); module.exports = async ({ k, g }) => (${expression});`, {
    args: { k: keys, g: given },
  });

/** Runs the expression here, with Node's crypto. */
const here = (expression: string, given: Record<string, Json> = {}): Json => {
  const run: (crypto: typeof node, k: typeof keys, g: typeof given) => Json = Object(
    new Function("crypto", "k", "g", `return (${expression});`),
  );
  return JSON.parse(JSON.stringify(run(node, keys, given)));
};

describe("returns what Node returns", () => {
  test.each([
    "crypto.createHash('sha256').update('ü').digest('hex')",
    "crypto.createHash('SHA512').update('a').update(Buffer.from('b')).update('63', 'hex').digest('base64')",
    "crypto.createHash('md5').update('').digest('base64url')",
    "crypto.createHash('sha1').update(new Uint8Array([1, 2, 255])).digest().toString('latin1')",
    "crypto.createHash('shake256', { outputLength: 7 }).update('x').digest('hex')",
    "(() => { const h = crypto.createHash('sha256').update('a'); const c = h.copy().update('b'); return [h.digest('hex'), c.digest('hex')]; })()",
    "crypto.createHmac('sha256', 'key').update('data').digest('hex')",
    "crypto.createHmac('sha512', Buffer.alloc(200, 7)).update('data').digest('base64')",
    "crypto.createHmac('sha256', crypto.createSecretKey(Buffer.from('k'))).update('d').digest('hex')",
    "(() => { const c = crypto.createCipheriv('aes-256-cbc', Buffer.alloc(32, 1), Buffer.alloc(16, 2)); return c.update('some text that is longer than a block', 'utf8', 'hex') + c.final('hex'); })()",
    "(() => { const c = crypto.createDecipheriv('aes-128-cbc', Buffer.alloc(16, 1), Buffer.alloc(16, 2)); c.setAutoPadding(false); return c.update('00'.repeat(32), 'hex', 'base64') + c.final('base64'); })()",
    "(() => { const c = crypto.createCipheriv('aes-256-gcm', Buffer.alloc(32, 1), Buffer.alloc(12, 2)); c.setAAD(Buffer.from('aad')); const d = c.update('secret', 'utf8', 'hex') + c.final('hex'); return [d, c.getAuthTag().toString('hex')]; })()",
    "(() => { const c = crypto.createCipheriv('aes-128-ecb', Buffer.alloc(16, 1), null); return Buffer.concat([c.update('x'), c.final()]).toString('hex'); })()",
    "(() => { const c = crypto.createCipheriv('chacha20-poly1305', Buffer.alloc(32), Buffer.alloc(12), { authTagLength: 16 }); c.update('x'); c.final(); return c.getAuthTag().toString('hex'); })()",
    "crypto.pbkdf2Sync('password', 'salt', 1000, 40, 'sha256').toString('hex')",
    "crypto.scryptSync('password', 'salt', 32).toString('hex')",
    "crypto.scryptSync('password', 'salt', 16, { N: 1024, r: 4, p: 2 }).toString('hex')",
    "Buffer.from(crypto.hkdfSync('sha512', 'key', 'salt', 'info', 64)).toString('hex')",
    "crypto.sign('sha256', Buffer.from('data'), k.rsaPrivate).toString('hex')",
    "crypto.createSign('RSA-SHA256').update('da').update('ta').sign(k.rsaPrivate, 'base64')",
    "crypto.sign(null, Buffer.from('data'), k.edPrivate).toString('hex')",
    "crypto.privateEncrypt(k.rsaPrivate, Buffer.from('x')).toString('hex')",
    "crypto.createPublicKey(k.rsaPrivate).export({ type: 'spki', format: 'pem' })",
    "crypto.createPrivateKey(k.ecPrivate).export({ format: 'jwk' })",
    "crypto.createPublicKey(k.ecPublic).export({ type: 'spki', format: 'der' }).toString('hex')",
    "(() => { const o = crypto.createPrivateKey(k.ecPrivate); return [o.type, o.asymmetricKeyType, o.asymmetricKeyDetails.namedCurve]; })()",
    "(() => { const e = crypto.createECDH('prime256v1'); e.setPrivateKey('07'.repeat(32), 'hex'); return [e.getPublicKey('hex'), e.getPublicKey('hex', 'compressed'), e.getPrivateKey('base64')]; })()",
    "crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')) && !crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('b'))",
    "[crypto.getHashes(), crypto.getCiphers(), crypto.getCurves()]",
    "crypto.constants.RSA_PKCS1_OAEP_PADDING",
  ])("%s", async (expression) => {
    expect(await guest(expression)).toEqual(here(expression));
  });
});

describe("errors are Node's", () => {
  test.each([
    "crypto.createHash('none')",
    "crypto.createHmac('none', 'k')",
    "crypto.createCipheriv('none', Buffer.alloc(16), null)",
    "crypto.createCipheriv('aes-128-cbc', Buffer.alloc(15), Buffer.alloc(16))",
    "(() => { const h = crypto.createHash('sha1'); h.digest(); h.update('x'); })()",
    "(() => { const d = crypto.createDecipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(16)); d.update('00', 'hex'); d.final(); })()",
    "(() => { const d = crypto.createDecipheriv('aes-256-gcm', Buffer.alloc(32), Buffer.alloc(12)); d.update('00', 'hex'); d.setAuthTag(Buffer.alloc(16)); d.final(); })()",
    "crypto.sign('sha256', Buffer.from('x'), 'no key')",
    "crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab'))",
  ])("%s", async (expression) => {
    const message = `(() => { try { ${expression}; return 'no error'; } catch (e) { return e.message; } })()`;
    expect(await guest(message)).toEqual(here(message));
  });
});

describe("interoperates with Node", () => {
  test("signatures with random parts", async () => {
    const signature = await guest(
      "crypto.createSign('sha256').update('data').sign({ key: k.ecPrivate, dsaEncoding: 'ieee-p1363' }, 'base64')",
    );
    expect(
      node.verify(
        "sha256",
        Buffer.from("data"),
        { key: ec.publicKey, dsaEncoding: "ieee-p1363" },
        Buffer.from(String(signature), "base64"),
      ),
    ).toBe(true);
    const pss = { padding: node.constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    const made = node.sign("sha256", Buffer.from("data"), { key: rsa.privateKey, ...pss }).toString("base64");
    const verify = (data: string) =>
      `crypto.createVerify('sha256').update('${data}').verify({ key: k.rsaPublic, padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, g.made, 'base64')`;
    expect([await guest(verify("data"), { made }), await guest(verify("other"), { made })]).toEqual([true, false]);
  });

  test("RSA encryption", async () => {
    const encrypted = await guest(
      "crypto.publicEncrypt({ key: k.rsaPublic, oaepHash: 'sha256', oaepLabel: Buffer.from('l') }, Buffer.from('hidden')).toString('base64')",
    );
    const options = { key: rsa.privateKey, oaepHash: "sha256", oaepLabel: Buffer.from("l") };
    expect(node.privateDecrypt(options, Buffer.from(String(encrypted), "base64")).toString()).toBe("hidden");
    const made = node.publicEncrypt(rsa.publicKey, Buffer.from("hidden too")).toString("base64");
    expect(await guest("crypto.privateDecrypt(k.rsaPrivate, Buffer.from(g.made, 'base64')).toString()", { made })).toBe(
      "hidden too",
    );
  });

  test("GCM both ways, in chunks", async () => {
    const cipher = node.createCipheriv("aes-256-gcm", Buffer.alloc(32, 3), Buffer.alloc(12, 4));
    const data = Buffer.concat([cipher.update("a long secret text"), cipher.final()]).toString("base64");
    const opening =
      "(() => { const d = crypto.createDecipheriv('aes-256-gcm', Buffer.alloc(32, 3), Buffer.alloc(12, 4)); d.setAuthTag(Buffer.from(g.tag, 'base64')); const b = Buffer.from(g.data, 'base64'); return d.update(b.subarray(0, 5), null, 'utf8') + d.update(b.subarray(5)).toString() + d.final('utf8'); })()";
    expect(await guest(opening, { data, tag: cipher.getAuthTag().toString("base64") })).toBe("a long secret text");
  });

  test("agreement on a secret", async () => {
    const mine = node.createECDH("secp384r1");
    mine.generateKeys();
    const [theirs, secret] = Object.values(
      Object(
        await guest(
          "(() => { const e = crypto.createECDH('secp384r1'); e.generateKeys(); return [e.getPublicKey('hex'), e.computeSecret(g.mine, 'hex', 'hex')]; })()",
          { mine: mine.getPublicKey("hex") },
        ),
      ),
    );
    expect(mine.computeSecret(String(theirs), "hex", "hex")).toBe(secret);
    const shared =
      "(() => { const a = crypto.generateKeyPairSync('x25519'), b = crypto.generateKeyPairSync('x25519'); return crypto.diffieHellman({ privateKey: a.privateKey, publicKey: b.publicKey }).equals(crypto.diffieHellman({ privateKey: b.privateKey, publicKey: a.publicKey })); })()";
    expect(await guest(shared)).toBe(true);
  });

  test("key pairs, and keys in their other forms", async () => {
    const pair = Object(
      await guest(
        "crypto.generateKeyPairSync('ec', { namedCurve: 'P-384', privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' } })",
      ),
    );
    const signature = node.sign("sha384", Buffer.from("x"), pair.privateKey);
    expect(node.verify("sha384", Buffer.from("x"), pair.publicKey, signature)).toBe(true);
    const jwk = JSON.parse(JSON.stringify(ec.privateKey.export({ format: "jwk" })));
    const der = ec.privateKey.export({ type: "sec1", format: "der" }).toString("base64");
    const expected = keys.ecPublic;
    expect(
      await guest(
        "crypto.createPublicKey(crypto.createPrivateKey({ key: g.jwk, format: 'jwk' })).export({ type: 'spki', format: 'pem' })",
        { jwk },
      ),
    ).toBe(expected);
    expect(
      await guest(
        "crypto.createPublicKey(crypto.createPrivateKey({ key: Buffer.from(g.der, 'base64'), format: 'der', type: 'sec1' })).export({ type: 'spki', format: 'pem' })",
        { der },
      ),
    ).toBe(expected);
  });
});

describe("random values", () => {
  test("have the requested size and range", async () => {
    const sizes = "[0, 1, 16, 65536].map((n) => crypto.randomBytes(n).length)";
    expect(await guest(sizes)).toEqual([0, 1, 16, 65_536]);
    expect(await guest("Array.from({ length: 200 }, () => crypto.randomInt(5, 8)).every((n) => n >= 5 && n < 8)")).toBe(
      true,
    );
    expect(await guest("new Set(Array.from({ length: 200 }, () => crypto.randomInt(4))).size")).toBe(4);
    expect(await guest("crypto.randomUUID()")).toMatch(
      /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    );
    expect(await guest("crypto.randomFillSync(new Uint8Array(100000)).some((b) => b !== 0)")).toBe(true);
    expect(await guest("Array.from({ length: 1000 }, Math.random).every((n) => n >= 0 && n < 1)")).toBe(true);
  });

  test("work with callbacks too", async () => {
    expect(await guest("await new Promise((ok) => crypto.randomBytes(4, (e, b) => ok([e, b.length])))")).toEqual([
      null,
      4,
    ]);
    expect(
      await guest("await new Promise((ok) => crypto.pbkdf2('p', 's', 1, 4, 'sha1', (e, b) => ok(b.toString('hex'))))"),
    ).toBe(node.pbkdf2Sync("p", "s", 1, 4, "sha1").toString("hex"));
    expect(await guest("await new Promise((ok) => crypto.scrypt('p', 's', 4, { N: 2 }, (e, b) => ok(b.length)))")).toBe(
      4,
    );
    expect(
      await guest("await new Promise((ok) => crypto.pbkdf2('p', 's', 1, 4, 'none', (e) => ok(e.message)))"),
    ).toContain("Invalid digest");
  });
});

describe("computations that would block the thread are rejected at once", () => {
  test.each([
    ["many rounds", "crypto.pbkdf2Sync('p', 's', 1e9, 32, 'sha512')"],
    ["long output of many rounds", "crypto.pbkdf2Sync('p', 's', 1e6, 1024, 'sha512')"],
    ["much memory", "crypto.scryptSync('p', 's', 32, { N: 2 ** 20, r: 64, p: 16 })"],
    ["large random values", "crypto.randomBytes(2 ** 30)"],
    ["RSA pairs", "crypto.generateKeyPairSync('rsa', { modulusLength: 16384 })"],
    ["a key whose passphrase is slow", "crypto.createPrivateKey({ key: k.rsaPrivate, passphrase: 'x' })"],
    [
      "an encrypted key",
      "crypto.createPrivateKey('-----BEGIN ENCRYPTED PRIVATE KEY-----\\nAAAA\\n-----END ENCRYPTED PRIVATE KEY-----')",
    ],
  ])("%s", async (_name, expression) => {
    const outcome = await opened.run(`const crypto = require('crypto'); module.exports = ({ k }) => ${expression};`, {
      args: { k: keys },
    });
    expect(outcome.kind).toBe("threw");
  });

  test("a million small hashes neither fill the instance nor keep it from being interrupted", async () => {
    const code =
      "const crypto = require('crypto'); module.exports = () => { let n = 0; for (;;) { crypto.createHash('sha256').update('x').digest(); n++; } };";
    expect(await opened.run(code, { limits: { wallMs: 1_500 } })).toMatchObject({ kind: "failed", reason: "timeout" });
  });

  test("ciphers that are never finished are dropped, oldest first", async () => {
    expect(
      await guest(
        "(() => { const open = Array.from({ length: 70 }, () => crypto.createCipheriv('aes-128-ecb', Buffer.alloc(16), null)); try { open[0].final(); } catch (e) { return [e.message, open[69].final().length]; } })()",
      ),
    ).toEqual(["Unsupported state: this cipher is no longer open", 16]);
  });
});
