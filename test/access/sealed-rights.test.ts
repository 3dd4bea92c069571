import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRights } from "../../src/access/access-rule.js";
import { NO_PAGES } from "../../src/access/pages.js";
import {
  keyIssuanceProof,
  openRights,
  openSessionRights,
  rightsColumns,
  sealSessionRights,
} from "../../src/access/sealed-rights.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { encodeAad, SealBroken, seal } from "../../src/crypto/sealed.js";
import { AAD_COLUMNS } from "../../src/store/tenancy/sealed-columns.js";
import { newTenantKeys } from "../support/tenant-keys.js";
import { arbitrary, rightsOf } from "./rights.js";

const keys = newTenantKeys();
const { tenantId } = keys;
const hash = (text: string) => createHash("sha256").update(text).digest();
const named = { name: "Shop", ...rightsOf("plain read", "/a/ reveal! read", "/ mask use"), ...NO_PAGES, revision: 3 };
const application = { id: newUuid(), type: "private", created_by: newUuid() } as const;

/** The same bytes with one bit changed. */
function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  const place = at % changed.length;
  changed[place] = (changed[place] ?? 0) ^ 1;
  return changed;
}

describe("the sealed rights of an application", () => {
  const row = rightsColumns(keys, application, named);

  it("open as they were given, and the plain columns say nothing", () => {
    expect(Object.keys(row)).toEqual(["type", "definition"]);
    expect(openRights(keys, application, row.definition)).toEqual(named);
  });

  it("open for any rights", () => {
    fc.assert(
      fc.property(arbitrary.applicationRights, ({ permissions, rules }) => {
        fc.pre(permissions.length + rules.length > 0);
        const given = rules.map((rule) => ({ ...rule, requiresReason: rule.transform === "reveal" }));
        const rights = { ...named, permissions, rules: given };
        const stored = rightsColumns(keys, application, rights);
        expect(openRights(keys, application, stored.definition)).toEqual(rights);
      }),
      { numRuns: 50 },
    );
  });

  it("keep what pages may do", () => {
    const page = { id: newUuid(), type: "public", created_by: null } as const;
    const rights = {
      ...parseRights("public", ["token:create"], []),
      name: "Page",
      revision: 0,
      allowedOrigins: ["https://a.example"],
      templates: [
        { name: "plain" },
        {
          ...{
            name: "all",
            mask: { n: "{{ data | last4 }}" },
            searchIndexes: ["{{ data }}"],
            id: "{{ data | alias_card }}",
          },
          ...{ fingerprintExpression: "{{ data }}", deduplicate: true },
        },
      ],
      allowPageRequests: true,
    };
    const stored = rightsColumns(keys, page, rights);
    expect(openRights(keys, page, stored.definition)).toEqual(rights);
  });

  it.each<[string, () => unknown]>([
    ["another tenant", () => openRights({ ...keys, tenantId: newTenantId() }, application, row.definition)],
    ["another application", () => openRights(keys, { ...application, id: newUuid() }, row.definition)],
    ["another type", () => openRights(keys, { ...application, type: "management" }, row.definition)],
    ["another author", () => openRights(keys, { ...application, created_by: newUuid() }, row.definition)],
    ["no author", () => openRights(keys, { ...application, created_by: null }, row.definition)],
    ["other keys", () => openRights(newTenantKeys(), application, row.definition)],
  ])("do not open under %s", (_, open) => {
    expect(open).toThrow(SealBroken);
  });

  it("do not open after any change of their bytes", () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000 }), (at) => {
        const edited = flipped(row.definition, at);
        expect(() => openRights(keys, application, edited)).toThrow(SealBroken);
      }),
    );
  });

  it("cannot be replaced by rights in the clear, nor by nothing", () => {
    const inClear = Buffer.from(JSON.stringify({ name: "Shop", permissions: ["token:read"], rules: [] }));
    for (const definition of [inClear, Buffer.alloc(0)]) {
      expect(() => openRights(keys, application, definition)).toThrow(SealBroken);
    }
  });
});

describe("the seal of a key that was given to an application", () => {
  const key = {
    id: newUuid(),
    application_id: application.id,
    key_hash: hash("a key"),
    created_by: newUuid(),
    expires_at: null,
  };
  const proof = keyIssuanceProof.seal(keys, key);

  it("fits the key", () => {
    expect(() => keyIssuanceProof.require(keys, { ...key, proof })).not.toThrow();
  });

  it.each([
    ["another application", { ...key, application_id: newUuid(), proof }],
    ["another key text", { ...key, key_hash: hash("another key"), proof }],
    ["a later end", { ...key, expires_at: new Date("2030-01-01T00:00:00Z"), proof }],
    ["another author", { ...key, created_by: newUuid(), proof }],
    ["another row", { ...key, id: newUuid(), proof }],
    ["a changed seal", { ...key, proof: flipped(proof, 7) }],
  ])("does not fit %s", (_, row) => {
    expect(() => keyIssuanceProof.require(keys, row)).toThrow(SealBroken);
  });

  it("must exist", () => {
    expect(() => keyIssuanceProof.require(keys, { ...key, proof: Buffer.alloc(0) })).toThrow(SealBroken);
  });
});

describe("the sealed rights of a session", () => {
  const columns = {
    ...{ id: newUuid(), key_hash: hash("key"), nonce_hash: hash("nonce"), application_id: application.id },
    ...{ authorized_by: newUuid(), expires_at: new Date("2030-01-01T00:00:00Z") },
  };
  const given = rightsOf("plain read", "id=x&container^/a/ reveal read");
  const session = { ...columns, rights: sealSessionRights(keys, columns, given) };

  it("open as they were authorized", () => {
    expect(openSessionRights(keys, session)).toEqual(given);
  });

  it.each<[string, Partial<typeof session>]>([
    ["another key", { key_hash: hash("stolen") }],
    ["another nonce", { nonce_hash: hash("stolen") }],
    ["another application", { application_id: newUuid() }],
    ["another authorizer", { authorized_by: newUuid() }],
    ["a later end", { expires_at: new Date("2031-01-01T00:00:00Z") }],
    ["another session", { id: newUuid() }],
  ])("do not open beside %s", (_, change) => {
    expect(() => openSessionRights(keys, { ...session, ...change })).toThrow(SealBroken);
  });

  it.each([
    ["rules that are no list", { permissions: ["token:read"], rules: {} }],
    ["no rules", { permissions: ["token:read"] }],
    ["permissions that are no list", { permissions: "token:read", rules: [] }],
  ])("do not open with %s, which would grant other rights", (_, written) => {
    const place = { tenantId, entity: columns.id, field: "session", bound: encodeAad(columns, AAD_COLUMNS.sessions) };
    const rights = seal(keys.data, place, Buffer.from(JSON.stringify(written)));
    expect(() => openSessionRights(keys, { ...columns, rights })).toThrow("rights of an unknown form");
  });

  it("are empty until it is authorized", () => {
    const open = { ...columns, authorized_by: null };
    const rights = sealSessionRights(keys, open, given);
    expect(openSessionRights(keys, { ...open, rights })).toEqual({ permissions: [], rules: [] });
    expect(() => openSessionRights(keys, { ...session, rights })).toThrow(SealBroken);
  });

  it("must exist", () => {
    expect(() => openSessionRights(keys, { ...session, rights: Buffer.alloc(0) })).toThrow(SealBroken);
  });
});
