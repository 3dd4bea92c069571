import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseKeyName } from "../../src/access/frame-pass.js";
import { checksum, isMarked, KEY_KINDS, newKey, parseKey } from "../../src/access/key-text.js";
import { newSecret, parseSecret } from "../../src/access/secret-text.js";
import { toBase62 } from "../../src/base/base-n.js";
import { compactUuid } from "../../src/base/compact-uuid.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { newTenantKeys } from "../support/tenant-keys.js";

const tenantId = newTenantId();
const keys = newTenantKeys();
const id = newUuid();
const SECRET_KINDS = ["sgn", "lnk", "oid", "pky", "inv"] as const;

/** Each text that the vault hands out as a credential, and what its reader makes of any text. */
const credentials: [name: string, make: () => { text: string; hash: Buffer }, parse: (text: string) => unknown][] = [
  ...KEY_KINDS.map((kind): (typeof credentials)[number] => {
    return [`a ${kind} key`, () => revealed(newKey(kind, tenantId, keys)), parseKey];
  }),
  ...SECRET_KINDS.map((kind): (typeof credentials)[number] => {
    const parse = (text: string) => parseSecret(kind, text);
    return [`a ${kind} secret`, () => revealed(newSecret(kind, tenantId, id)), parse];
  }),
];

function revealed({ text, hash }: ReturnType<typeof newKey>) {
  return { text: text.reveal(), hash };
}

const letter = fc.constantFrom(..."0123456789ABCXYZabcxyz_- ");

describe.each(credentials)("%s", (_, make, parse) => {
  it("names its tenant, and is known by the SHA-256 of its text", () => {
    const { text, hash } = make();
    expect(hash).toEqual(createHash("sha256").update(text).digest());
    expect(parse(text)).toMatchObject({ tenantId, hash });
  });

  it("is different each time, also in its secret part alone", () => {
    const secrets = Array.from({ length: 50 }, () => make().text.split("_").at(-2));
    expect(new Set(secrets).size).toBe(50);
    for (const secret of secrets) expect(secret).toMatch(/^[0-9A-Za-z]{43}$/);
  });

  it("is rejected without a look-up after any typing mistake", () => {
    const { text } = make();
    fc.assert(
      fc.property(fc.nat({ max: text.length - 1 }), letter, (at, typed) => {
        const [before, after] = [text.slice(0, at), text.slice(at + 1)];
        const swapped = before.slice(0, -1) + text.charAt(at) + before.slice(-1) + after;
        const mistakes = [before + typed + after, before + typed + text.slice(at), before + after, swapped];
        for (const mistake of mistakes) if (mistake !== text) expect(parse(mistake), mistake).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  it("is rejected with anything before or after it", () => {
    const { text } = make();
    for (const around of [` ${text}`, `${text} `, `${text}\n`, text + text, "", text.toUpperCase()]) {
      expect(parse(around)).toBeUndefined();
    }
  });
});

describe("a credential with a valid checksum", () => {
  const signed = (body: string) => `${body}_${checksum(body)}`;
  const secret = "x".repeat(43);
  const tenant = compactUuid(tenantId);

  it.each([
    ["of a kind that does not exist", `key_prod_adm_${tenant}_${secret}`, false],
    ["with a secret that is too short", `key_prod_pvt_${tenant}_${secret.slice(1)}`, false],
    ["with a tenant above 128 bits", `key_prod_pvt_${"z".repeat(22)}_${secret}`, false],
    ["of another environment", `key_test_pvt_${tenant}_${secret}`, true],
  ])("%s: %s", (_, body, isRead) => {
    expect(parseKey(signed(body)) !== undefined).toBe(isRead);
  });

  it("for one purpose is not one for another", () => {
    for (const made of SECRET_KINDS) {
      const text = newSecret(made, tenantId, id).text.reveal();
      for (const asked of SECRET_KINDS) expect(parseSecret(asked, text) !== undefined).toBe(asked === made);
      expect(parseKey(text)).toBeUndefined();
    }
  });
});

describe("the mark of a key", () => {
  const issued = newKey("pvt", tenantId, keys).text.reveal();
  /** The same with another checksum, as anybody can compute it. */
  const checked = (body: string) => `${body}_${checksum(body)}`;

  it("is the vault's, whatever the kind", () => {
    for (const kind of KEY_KINDS) {
      const text = newKey(kind, tenantId, keys).text.reveal();
      expect(isMarked(keys.keyMark, text)).toBe(true);
      expect(isMarked(newTenantKeys().keyMark, text)).toBe(false);
    }
  });

  it.each([
    ["another kind", issued.replace("_pvt_", "_mgt_")],
    ["another environment", issued.replace("key_prod", "key_test")],
    ["another tenant", issued.replace(compactUuid(tenantId), compactUuid(newTenantId()))],
    ["a secret that is no bytes", issued.replace(issued.slice(-50, -7), "z".repeat(43))],
  ])("does not fit %s", (_, text) => {
    const key = checked(text.slice(0, -7));
    expect(isMarked(keys.keyMark, key)).toBe(false);
  });

  it("is not guessed by changing a key, nor by making one up", () => {
    const at = fc.integer({ min: issued.length - 50, max: issued.length - 8 });
    fc.assert(
      fc.property(at, letter, fc.uint8Array({ minLength: 32, maxLength: 32 }), (place, typed, secret) => {
        const changed = checked(`${issued.slice(0, place)}${typed}${issued.slice(place + 1, -7)}`);
        const madeUp = checked(`${issued.slice(0, -50)}${toBase62(secret, 43)}`);
        for (const text of [changed, madeUp]) if (text !== issued) expect(isMarked(keys.keyMark, text)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the name of a key, which a page may show to anyone", () => {
  const hash = createHash("sha256").update("a key").digest();
  const name = (kind: string, hashText = hash.toString("base64url")) => `${kind}_${compactUuid(tenantId)}_${hashText}`;

  it.each(["pub", "ses"])("has the kind %s, the tenant and the hash", (kind) => {
    expect(parseKeyName(name(kind))).toEqual({ kind, tenantId, hash });
  });

  it.each(["pvt", "mgt", "prx", "PUB", ""])("cannot have the kind %j", (kind) => {
    expect(parseKeyName(name(kind))).toBeUndefined();
  });

  it.each([
    ["a key itself", newKey("pub", tenantId, keys).text.reveal()],
    ["a short hash", name("pub", "abc")],
    ["a hash with padding", name("pub", `${hash.toString("base64url")}=`)],
    ["a tenant above 128 bits", `pub_${"z".repeat(22)}_${hash.toString("base64url")}`],
  ])("is not %s", (_, text) => {
    expect(parseKeyName(text)).toBeUndefined();
  });
});
