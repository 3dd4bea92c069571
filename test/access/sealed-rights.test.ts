import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRights } from "../../src/access/access-rule.js";
import {
  keyIssuanceSeal,
  openRights,
  openSessionRights,
  requireKeyIssuanceSeal,
  rightsColumns,
  SealMissing,
  sealSessionRights,
} from "../../src/access/sealed-rights.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { encodeAad, SealBroken, seal } from "../../src/crypto/sealed.js";
import { AAD_COLUMNS } from "../../src/store/tenancy/sealed-rows.js";
import { newTenantKeys, newUnboundKeys } from "../support/tenant-keys.js";
import { arbitrary, rightsOf } from "./rights.js";

const keys = newTenantKeys();
const tenantId = newTenantId();
const hash = (text: string) => createHash("sha256").update(text).digest();
const named = { name: "Shop", ...rightsOf("plain read", "/a/ reveal! read", "/ mask use"), allowedOrigins: [] };
const application = { id: newUuid(), type: "private" } as const;

/** The same bytes with one bit changed. */
function flipped(bytes: Buffer | null, at: number): Buffer {
  const changed = Buffer.from(bytes ?? "");
  const place = at % changed.length;
  changed[place] = (changed[place] ?? 0) ^ 1;
  return changed;
}

describe("the sealed rights of an application", () => {
  const row = rightsColumns(keys, tenantId, application, named);

  it("open as they were given, and the plain columns say nothing", () => {
    expect(row).toMatchObject({ type: "private", name: "", permissions: [], rules: [] });
    expect(openRights(keys, tenantId, application.id, "private", row)).toEqual(named);
  });

  it("open for any rights", () => {
    fc.assert(
      fc.property(arbitrary.applicationRights, ({ permissions, rules }) => {
        fc.pre(permissions.length + rules.length > 0);
        const given = rules.map((rule) => ({ ...rule, requiresReason: rule.transform === "reveal" }));
        const rights = { ...named, permissions, rules: given };
        const stored = rightsColumns(keys, tenantId, application, rights);
        expect(openRights(keys, tenantId, application.id, "private", stored)).toEqual(rights);
      }),
      { numRuns: 50 },
    );
  });

  it("keep the origins of pages", () => {
    const page = { id: newUuid(), type: "public" } as const;
    const rights = {
      ...parseRights("public", ["token:create"], []),
      name: "Page",
      allowedOrigins: ["https://a.example"],
    };
    const stored = rightsColumns(keys, tenantId, page, rights);
    expect(openRights(keys, tenantId, page.id, "public", stored)).toEqual(rights);
  });

  it.each<[string, () => unknown]>([
    ["another tenant", () => openRights(keys, newTenantId(), application.id, "private", row)],
    ["another application", () => openRights(keys, tenantId, newUuid(), "private", row)],
    ["another type", () => openRights(keys, tenantId, application.id, "management", row)],
    ["other keys", () => openRights(newTenantKeys(), tenantId, application.id, "private", row)],
  ])("do not open under %s", (_, open) => {
    expect(open).toThrow(SealBroken);
  });

  it("do not open after any change of their bytes", () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000 }), (at) => {
        const edited = { ...row, definition: flipped(row.definition, at) };
        expect(() => openRights(keys, tenantId, application.id, "private", edited)).toThrow(SealBroken);
      }),
    );
  });

  it("cannot be replaced by rights in the clear", () => {
    const inClear = { name: "Shop", permissions: ["token:read"], rules: [], definition: null };
    expect(() => openRights(keys, tenantId, application.id, "private", inClear)).toThrow(SealMissing);
  });
});

describe("the seal of a key that was given to an application", () => {
  const key = { id: newUuid(), application_id: application.id, key_hash: hash("a key") };
  const proof = keyIssuanceSeal(keys, tenantId, key);

  it("fits the key", () => {
    expect(() => requireKeyIssuanceSeal(keys, tenantId, { ...key, proof })).not.toThrow();
  });

  it.each([
    ["another application", { ...key, application_id: newUuid(), proof }],
    ["another key text", { ...key, key_hash: hash("another key"), proof }],
    ["another row", { ...key, id: newUuid(), proof }],
    ["a changed seal", { ...key, proof: flipped(proof, 7) }],
  ])("does not fit %s", (_, row) => {
    expect(() => requireKeyIssuanceSeal(keys, tenantId, row)).toThrow(SealBroken);
  });

  it("must exist", () => {
    expect(() => requireKeyIssuanceSeal(keys, tenantId, { ...key, proof: null })).toThrow(SealMissing);
  });
});

describe("the sealed rights of a session", () => {
  const columns = {
    ...{ id: newUuid(), key_hash: hash("key"), nonce_hash: hash("nonce"), application_id: application.id },
    ...{ authorized_by: newUuid(), expires_at: new Date("2030-01-01T00:00:00Z") },
  };
  const given = rightsOf("plain read", "id=x&container^/a/ reveal read");
  const session = { ...columns, rights: sealSessionRights(keys, tenantId, columns, given) };

  it("open as they were authorized", () => {
    expect(openSessionRights(keys, tenantId, session)).toEqual(given);
  });

  it.each<[string, Partial<typeof session>]>([
    ["another key", { key_hash: hash("stolen") }],
    ["another nonce", { nonce_hash: hash("stolen") }],
    ["another application", { application_id: newUuid() }],
    ["another authorizer", { authorized_by: newUuid() }],
    ["a later end", { expires_at: new Date("2031-01-01T00:00:00Z") }],
    ["another session", { id: newUuid() }],
  ])("do not open beside %s", (_, change) => {
    expect(() => openSessionRights(keys, tenantId, { ...session, ...change })).toThrow(SealBroken);
  });

  it.each([
    ["rules that are no list", { permissions: ["token:read"], rules: {} }],
    ["no rules", { permissions: ["token:read"] }],
    ["permissions that are no list", { permissions: "token:read", rules: [] }],
  ])("do not open with %s, which would grant other rights", (_, written) => {
    const place = { tenantId, entity: columns.id, field: "session", bound: encodeAad(columns, AAD_COLUMNS.sessions) };
    const rights = seal(keys.data, place, Buffer.from(JSON.stringify(written)));
    expect(() => openSessionRights(keys, tenantId, { ...columns, rights })).toThrow("rights of an unknown form");
  });

  it("are empty until it is authorized", () => {
    const open = { ...columns, authorized_by: null };
    const rights = sealSessionRights(keys, tenantId, open, given);
    expect(openSessionRights(keys, tenantId, { ...open, rights })).toEqual({ permissions: [], rules: [] });
    expect(() => openSessionRights(keys, tenantId, { ...session, rights })).toThrow(SealBroken);
  });

  it("must exist", () => {
    expect(() => openSessionRights(keys, tenantId, { ...session, rights: null })).toThrow(SealMissing);
  });
});

describe("a tenant with keys of an early release", () => {
  const early = newUnboundKeys();

  it("has its rights in the clear, and reads them", () => {
    const row = rightsColumns(early, tenantId, application, named);
    expect(row).toMatchObject({ name: "Shop", permissions: ["token:read"], definition: null });
    expect(openRights(early, tenantId, application.id, "private", row)).toEqual(named);
  });

  it("seals neither keys nor sessions", () => {
    const key = { id: newUuid(), application_id: application.id, key_hash: hash("a key") };
    expect(keyIssuanceSeal(early, tenantId, key)).toBeNull();
    expect(() => requireKeyIssuanceSeal(early, tenantId, { ...key, proof: null })).not.toThrow();
  });

  it("has no place for allowed origins, and says what to do", () => {
    const origins = { ...named, allowedOrigins: ["https://a.example"] };
    expect(() => rightsColumns(early, tenantId, application, origins)).toThrow("`cloakroom keys rotate`");
  });
});
