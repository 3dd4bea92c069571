import { createSecretKey, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import {
  type ChainHead,
  type ChainMark,
  isMac,
  MARK_KINDS,
  macOfDeletion,
  macOfHead,
  macOfMark,
  macOfMinute,
  NO_SEAL,
  type SealedMinute,
} from "../../src/crypto/log-seal.js";
import {
  hashOfSigned,
  isLogSignature,
  logSigningKey,
  readLogPublicKey,
  signingKeyFingerprint,
  signLogText,
} from "../../src/crypto/log-signing.js";
import { type KeyVersions, SealBroken } from "../../src/crypto/sealed.js";
import { newVersions } from "../support/tenant-keys.js";

const keys = newVersions();
const tenantId = newTenantId();
const at = new Date("2026-01-01T00:01:00Z");
const later = new Date("2026-01-01T00:02:00Z");
const bytes = (fill: number) => Buffer.alloc(32, fill);

const minute: SealedMinute = {
  ...{ windowStart: at, number: 12, rowCount: 3, digest: bytes(1), previous: bytes(2) },
};
const mark: ChainMark = {
  ...{ kind: "attestation", at, number: 12, count: 3, digest: bytes(1), previous: bytes(2) },
  subject: newUuid(),
};
const head: ChainHead = {
  ...{ number: 12, lastMac: bytes(1), keptFrom: at, attested: { number: 5, mac: bytes(3), at } },
};
const deletion = { tenantId, at, by: "an application" };

describe("the MAC of a sealed minute covers", () => {
  it.each<[string, Partial<SealedMinute>]>([
    ["the minute", { windowStart: later }],
    ["its number", { number: 13 }],
    ["the count of rows", { rowCount: 4 }],
    ["the digest", { digest: bytes(9) }],
    ["the seal before", { previous: NO_SEAL }],
    ["where one number ends and the next begins", { number: 1, rowCount: 23 }],
  ])("%s", (_, change) => {
    const sealed = macOfMinute(keys, 1, tenantId, minute);
    expect(macOfMinute(keys, 1, tenantId, { ...minute }).equals(sealed)).toBe(true);
    expect(macOfMinute(keys, 1, tenantId, { ...minute, ...change }).equals(sealed)).toBe(false);
  });
});

describe("the MAC of a mark in a chain covers", () => {
  it.each<[string, Partial<ChainMark>]>([
    ...MARK_KINDS.filter((kind) => kind !== mark.kind).map((kind): [string, Partial<ChainMark>] => [
      `its kind, which is not ${kind}`,
      { kind },
    ]),
    ["its time", { at: later }],
    ["its number", { number: 13 }],
    ["the count of seals", { count: 4 }],
    ["the digest", { digest: bytes(9) }],
    ["the tenant it is about", { subject: newUuid() }],
    ["that it is about a tenant", { subject: undefined }],
    ["the seal before", { previous: NO_SEAL }],
  ])("%s", (_, change) => {
    const sealed = macOfMark(keys, 1, tenantId, mark);
    expect(macOfMark(keys, 1, tenantId, { ...mark, ...change }).equals(sealed)).toBe(false);
  });
});

describe("the MAC of the head of a chain covers", () => {
  const attested = { number: 5, mac: bytes(3), at };

  it.each<[string, Partial<ChainHead>]>([
    ["the number of the last seal", { number: 11 }],
    ["the last seal", { lastMac: bytes(9) }],
    ["from when rows exist", { keptFrom: later }],
    ["that rows were removed", { keptFrom: undefined }],
    ["the number of the attestation", { attested: { ...attested, number: 6 } }],
    ["the attestation", { attested: { ...attested, mac: bytes(9) } }],
    ["the time of the attestation", { attested: { ...attested, at: later } }],
    ["that there is an attestation", { attested: undefined }],
  ])("%s", (_, change) => {
    const sealed = macOfHead(keys, 1, tenantId, head);
    expect(macOfHead(keys, 1, tenantId, { ...head, ...change }).equals(sealed)).toBe(false);
  });
});

describe("each MAC of the log", () => {
  const macs: [string, (versions: KeyVersions, version: number, tenant: typeof tenantId) => Buffer][] = [
    ["a minute", (versions, version, tenant) => macOfMinute(versions, version, tenant, minute)],
    ["a mark", (versions, version, tenant) => macOfMark(versions, version, tenant, mark)],
    ["a head", (versions, version, tenant) => macOfHead(versions, version, tenant, head)],
    ["a deletion", (versions, version, tenant) => macOfDeletion(versions, version, { ...deletion, tenantId: tenant })],
  ];

  it.each(macs)("is of one tenant and one key, and false once the key is gone: %s", (_, make) => {
    const sealed = make(keys, 1, tenantId);
    expect(isMac(sealed, () => make(keys, 1, tenantId))).toBe(true);
    expect(isMac(sealed, () => make(keys, 1, newTenantId()))).toBe(false);
    expect(isMac(sealed, () => make(newVersions(), 1, tenantId))).toBe(false);
    expect(isMac(sealed.subarray(1), () => make(keys, 1, tenantId))).toBe(false);
    expect(() => make(keys, 2, tenantId)).toThrow(SealBroken);
    expect(isMac(sealed, () => make(keys, 2, tenantId))).toBe(false);
  });

  it("is for its own purpose only", () => {
    expect(new Set(macs.map(([, make]) => make(keys, 1, tenantId).toString("hex"))).size).toBe(macs.length);
    const closings = [deletion, { ...deletion, at: later }, { ...deletion, by: "another" }];
    expect(new Set(closings.map((closing) => macOfDeletion(keys, 1, closing).toString("hex"))).size).toBe(3);
  });

  it("is not hidden by another error than a key that is gone", () => {
    const broken = () => {
      throw new TypeError("broken");
    };
    expect(() => isMac(NO_SEAL, broken)).toThrow("broken");
  });
});

describe("the key pair that signs a tenant's log", () => {
  it("is a function of the tenant, its audit key and the version of the key", () => {
    const secret = createSecretKey(randomBytes(32));
    const copies = [1, 2].map(() => createSecretKey(secret.export()));
    const versionsOf = (version: number, key = secret): KeyVersions => {
      return { current: version, byVersion: new Map([[version, key]]) };
    };
    const own = logSigningKey(versionsOf(1), tenantId);
    expect(logSigningKey(versionsOf(1, copies[0]), tenantId).fingerprint).toBe(own.fingerprint);
    const others = [
      logSigningKey(versionsOf(2, copies[1]), tenantId),
      logSigningKey(newVersions(), tenantId),
      logSigningKey(versionsOf(1, createSecretKey(secret.export())), newTenantId()),
    ];
    expect(new Set([own, ...others].map(({ fingerprint }) => fingerprint)).size).toBe(4);
    expect(() => logSigningKey(versionsOf(1), tenantId, 2)).toThrow(SealBroken);
  });

  it("signs texts that its public key verifies, as they are", async () => {
    const key = logSigningKey(keys, tenantId);
    const publicKey = readLogPublicKey(key.publicKey) ?? expect.fail("the public key is not read");
    const signature = await signLogText(key, "a text");
    expect(isLogSignature(publicKey, "a text", signature)).toBe(true);
    expect(isLogSignature(publicKey, "a text ", signature)).toBe(false);
    expect(isLogSignature(publicKey, "a text", signature.subarray(1))).toBe(false);
    const foreign = readLogPublicKey(logSigningKey(newVersions(), tenantId).publicKey);
    expect(foreign && isLogSignature(foreign, "a text", signature)).toBe(false);
    expect(key.fingerprint).toBe(signingKeyFingerprint(key.publicKey));
    expect(hashOfSigned("a text")).not.toBe(hashOfSigned("a text "));
  });

  it.each([
    ["nothing", Buffer.alloc(0)],
    ["44 bytes that are not a key", Buffer.alloc(44)],
    ["a key that is cut", logSigningKey(keys, tenantId).publicKey.subarray(0, 43)],
  ])("is not read from %s", (_, spki) => {
    expect(readLogPublicKey(spki)).toBeUndefined();
  });
});
