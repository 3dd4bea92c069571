import { createSecretKey, randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenantId } from "../../src/base/ids.js";
import { lengthPrefixed } from "../../src/crypto/bytes.js";
import { LocalRootKey } from "../../src/crypto/local-root-key.js";
import { type RootKey, RootKeyDenied, RootKeyRefused } from "../../src/crypto/root-key.js";
import { type KeyVersions, open, SealBroken, seal } from "../../src/crypto/sealed.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import {
  generateTenantKey,
  generateTenantKeys,
  KEY_PURPOSES,
  requiresSeals,
  rewrapTenantKey,
  unwrapKeyVersions,
  unwrapTenantKeys,
  type WrappedTenantKey,
} from "../../src/crypto/tenant-keys.js";

const root = new LocalRootKey("00112233445566ff", new Sensitive(randomBytes(32)));
const next = new LocalRootKey("ffeeddccbbaa9988", new Sensitive(randomBytes(32)));
const tenantId = newTenantId();
const place = { tenantId, entity: "x", field: "data" };

/** The available root keys, and how often one is asked for. */
function rootsOf(...available: readonly RootKey[]) {
  const asked: string[] = [];
  const find = async (id: string) => {
    asked.push(id);
    return available.find((key) => key.id === id);
  };
  return { find, asked };
}

describe("the keys of a tenant", () => {
  let rows: WrappedTenantKey[];
  beforeAll(async () => {
    rows = await generateTenantKeys(root, tenantId);
  });
  /** The rows, with a change of the one of a purpose. */
  const changed = (purpose: string, change: Partial<WrappedTenantKey>) =>
    rows.map((row) => (row.purpose === purpose ? { ...row, ...change } : row));

  it("are one for each purpose, of which no two are the same", async () => {
    expect(rows.map(({ purpose }) => purpose)).toEqual([...KEY_PURPOSES]);
    for (const row of rows) expect(row).toMatchObject({ version: 1, state: "current", rootKeyId: root.id });
    const { keys } = await unwrapTenantKeys(rootsOf(root), tenantId, rows);
    const sealed = seal(keys.data, place, Buffer.from("secret"));
    expect(open(keys.data, place, sealed).toString()).toBe("secret");
    for (const other of [keys.cvc, keys.audit]) expect(() => open(other, place, sealed)).toThrow(SealBroken);
    const secrets = [keys.fingerprint, keys.search, keys.proof].map((key) => key.export().toString("hex"));
    expect(new Set(secrets).size).toBe(3);
    expect(requiresSeals(keys)).toBe(true);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["another tenant", () => unwrapTenantKeys(rootsOf(root), newTenantId(), rows)],
    [
      "another purpose",
      () => unwrapTenantKeys(rootsOf(root), tenantId, changed("cvc", { wrapped: wrappedOf("data") })),
    ],
    ["another version", () => unwrapTenantKeys(rootsOf(root), tenantId, changed("data", { version: 2 }))],
    ["another root key", () => unwrapTenantKeys(rootsOf(next), tenantId, changed("data", { rootKeyId: next.id }))],
  ])("do not unwrap for %s", async (_, unwrap) => {
    await expect(unwrap()).rejects.toThrow();
  });

  it("do not unwrap if a purpose was swapped with another", async () => {
    const swapped = changed("search", { wrapped: wrappedOf("fingerprint") });
    await expect(unwrapTenantKeys(rootsOf(root), tenantId, swapped)).rejects.toThrow(RootKeyRefused);
  });

  it("name the root key that is missing", async () => {
    await expect(unwrapTenantKeys(rootsOf(), tenantId, rows)).rejects.toThrow(RootKeyDenied);
    await expect(unwrapTenantKeys(rootsOf(), tenantId, rows)).rejects.toThrow(root.id);
  });

  it("are not asked of the root key's holder again", async () => {
    const roots = rootsOf(root);
    const { unwrapped } = await unwrapTenantKeys(roots, tenantId, rows);
    expect(roots.asked).toHaveLength(KEY_PURPOSES.length);
    const further = await generateTenantKey(root, tenantId, "data", 2);
    const all = [...changed("data", { state: "retired" }), further];
    await unwrapTenantKeys(roots, tenantId, all, unwrapped);
    expect(roots.asked).toHaveLength(KEY_PURPOSES.length + 1);
  });

  it.each<[string, (further: WrappedTenantKey) => WrappedTenantKey[], string | undefined]>([
    ["the newer one current", (further) => [...changed("data", { state: "retired" }), further], undefined],
    [
      "the older one current, under which values might be unbound",
      (further) => [...rows, { ...further, state: "retired" }],
      "a replaced data key of the tenant is marked as the current one",
    ],
    [
      "none current",
      (further) => [...changed("data", { state: "retired" }), { ...further, state: "retired" }],
      "the tenant has no current data key",
    ],
  ])("after a rotation have %s", async (_, rowsWith, problem) => {
    const all = rowsWith(await generateTenantKey(root, tenantId, "data", 2));
    const unwrapping = unwrapTenantKeys(rootsOf(root), tenantId, all);
    if (problem === undefined) expect((await unwrapping).keys.data).toMatchObject({ current: 2 });
    else await expect(unwrapping).rejects.toThrow(problem);
  });

  it("are wrapped by another root key without a change", async () => {
    const roots = rootsOf(root, next);
    const before = await unwrapTenantKeys(roots, tenantId, rows);
    const moved = await Promise.all(
      rows.map(async (row) => ({
        ...row,
        wrapped: await rewrapTenantKey(roots, next, tenantId, row),
        rootKeyId: next.id,
      })),
    );
    const after = await unwrapTenantKeys(rootsOf(next), tenantId, moved);
    const sealed = seal(before.keys.data, place, Buffer.from("secret"));
    expect(open(after.keys.data, place, sealed).toString()).toBe("secret");
    expect(after.keys.proof.equals(before.keys.proof)).toBe(true);
  });

  it("can be unwrapped for one purpose alone", async () => {
    const roots = rootsOf(root);
    const audit = await unwrapKeyVersions(roots, tenantId, "audit", rows);
    expect(audit.current).toBe(1);
    expect(roots.asked).toHaveLength(1);
  });

  function wrappedOf(purpose: string): Uint8Array {
    return rows.find((row) => row.purpose === purpose)?.wrapped ?? expect.fail(`no ${purpose} key`);
  }
});

/** Keys of the size of a release. */
function keysOf(bytes: number): KeyVersions {
  return { current: 1, byVersion: new Map([[1, createSecretKey(randomBytes(bytes))]]) };
}

/** What the first version of a key is wrapped for. */
function firstContext(purpose: string): Buffer {
  return lengthPrefixed(["cloakroom/tenant-key/1", tenantId, purpose, Buffer.from([0, 0, 0, 1])]);
}

describe("whether values are bound to their row", () => {
  it.each<[string, "none" | "unbound" | "bound", number]>([
    ["all of a new tenant are, under a key of 34 bytes", "none", 34],
    ["all are if the older keys bind as well", "bound", 34],
    ["those under older keys may not be, which a key of 33 bytes says", "unbound", 33],
  ])("%s", async (_, before, bytes) => {
    const older = before === "none" ? undefined : keysOf(before === "unbound" ? 32 : 33);
    const row = await generateTenantKey(root, tenantId, "data", 2, older);
    const keys = await unwrapKeyVersions(rootsOf(root), tenantId, "data", [row]);
    expect(keys.byVersion.get(2)?.symmetricKeySize).toBe(bytes);
    expect(keys.bindsFrom).toBe(bytes === 34 ? 0 : 2);
  });

  it("is decided by the first key that binds, after older ones of 32 bytes", async () => {
    const early: WrappedTenantKey = {
      ...{ purpose: "data", version: 1, state: "retired", rootKeyId: root.id },
      wrapped: await root.wrap(randomBytes(32), firstContext("data")),
    };
    const keys = await unwrapKeyVersions(rootsOf(root), tenantId, "data", [{ ...early, state: "current" }]);
    expect([keys.bindsFrom, requiresSeals({ data: keys })]).toEqual([undefined, false]);
    const rotated = await generateTenantKey(root, tenantId, "data", 2, keys);
    const both = await unwrapKeyVersions(rootsOf(root), tenantId, "data", [early, rotated]);
    expect([both.bindsFrom, requiresSeals({ data: both })]).toEqual([2, true]);
    const inOldPlace = { ...place, bound: Buffer.from("card") };
    const sealedBefore = seal(keys, inOldPlace, Buffer.from("secret"));
    expect(open(both, { ...place, bound: Buffer.from("changed") }, sealedBefore).toString()).toBe("secret");
    const sealedAfter = seal(both, inOldPlace, Buffer.from("secret"));
    expect(() => open(both, { ...place, bound: Buffer.from("changed") }, sealedAfter)).toThrow(SealBroken);
  });
});
