import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenantId } from "../../src/base/ids.js";
import { lengthPrefixed } from "../../src/crypto/bytes.js";
import { LocalRootKey } from "../../src/crypto/local-root-key.js";
import { type RootKey, RootKeyDenied, RootKeyRefused } from "../../src/crypto/root-key.js";
import { open, SealBroken, seal } from "../../src/crypto/sealed.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import {
  generateTenantKey,
  generateTenantKeys,
  KEY_PURPOSES,
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
      "the older one current, under which new values would be lost",
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

describe("the size of a tenant key", () => {
  it("is 32 bytes, for each purpose", async () => {
    const rows = await generateTenantKeys(root, tenantId);
    for (const purpose of KEY_PURPOSES) {
      const { byVersion } = await unwrapKeyVersions(rootsOf(root), tenantId, purpose, rows);
      expect([...byVersion.values()].map((key) => key.symmetricKeySize)).toEqual([32]);
    }
  });

  it.each([0, 16, 31, 33, 34, 64])("is refused if it is %i bytes", async (bytes) => {
    const context = lengthPrefixed(["cloakroom/tenant-key/1", tenantId, "data", Buffer.from([0, 0, 0, 1])]);
    const row: WrappedTenantKey = {
      ...{ purpose: "data", version: 1, state: "current", rootKeyId: root.id },
      wrapped: await root.wrap(randomBytes(bytes), context),
    };
    const unwrapping = unwrapKeyVersions(rootsOf(root), tenantId, "data", [row]);
    await expect(unwrapping).rejects.toThrow(RootKeyRefused);
    await expect(unwrapping).rejects.toThrow(`a tenant key has ${bytes} bytes, not 32`);
  });
});
