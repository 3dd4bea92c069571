import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { restClient } from "../../support/rest.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const FORM = /^key_prod_(pvt|pub|mgt)_([0-9A-Za-z]{22})_([0-9A-Za-z]{43})_([0-9A-Za-z]{6})$/;

function fromBase62(text: string): bigint {
  return [...text].reduce((value, char) => value * 62n + BigInt(ALPHABET.indexOf(char)), 0n);
}

/** A key with a recomputed checksum. */
function withChecksum(body: string): string {
  let rest = crc32(body);
  let sum = "";
  for (let digit = 0; digit < 6; digit += 1) {
    sum = ALPHABET.charAt(rest % 62) + sum;
    rest = Math.floor(rest / 62);
  }
  return `${body}_${sum}`;
}

describe("application keys", () => {
  let tenant: TestTenant;
  let applicationId: string;
  let stored: Stored;
  beforeAll(async () => {
    tenant = await newTenant();
    applicationId = (await tenant.application({ type: "private", permissions: ["token:create"] })).id;
    stored = await openStored();
  });
  afterAll(() => stored[Symbol.asyncDispose]());

  it.each([
    ["private", "pvt", ["token:create"]],
    ["public", "pub", ["token:create"]],
    ["management", "mgt", ["log:read"]],
  ] as const)("of a %s application have their documented form", async (type, kind, permissions) => {
    const { key } = await tenant.application({ type, permissions });
    const [, shownKind, tenantText = "", secret = ""] = FORM.exec(key) ?? [];
    expect(key.length).toBeLessThanOrEqual(100);
    expect(shownKind).toBe(kind);
    expect(fromBase62(tenantText).toString(16).padStart(32, "0")).toBe(tenant.id.replaceAll("-", ""));
    expect(fromBase62(secret) < 2n ** 256n).toBe(true);
    expect(withChecksum(key.slice(0, -7))).toBe(key);
  });

  it("are created on demand, shown once, and work at once", async () => {
    const path = `/applications/${applicationId}/keys`;
    const { status, body } = await tenant.manage("POST", path);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      tenant_id: tenant.id,
      key: expect.stringMatching(FORM),
      created_by: expect.any(String),
      created_at: expect.any(String),
    });
    const created = await restClient(tenant.url, body.key)("POST", "/tokens", { body: { type: "token", data: 1 } });
    expect(created).toMatchObject({ status: 201, body: { created_by: applicationId } });
    const { key: _, ...shown } = body;
    expect((await tenant.manage("GET", `${path}/${body.id}`)).body).toEqual(shown);
    const listed = await tenant.manage("GET", path);
    expect(listed.body.data[0]).toEqual(shown);
    expect(JSON.stringify(listed.body)).not.toContain('"key"');
    const application = await tenant.manage("GET", `/applications/${applicationId}`);
    expect(application.body.keys).toContainEqual(shown);
  });

  it("are different each time", async () => {
    const keys = await Promise.all(
      Array.from({ length: 20 }, () => tenant.manage("POST", `/applications/${applicationId}/keys`)),
    );
    expect(new Set(keys.map(({ body }) => body.key)).size).toBe(20);
  });

  it.each([
    ["no body", {}],
    [
      "an empty form, as older clients send",
      { raw: "", headers: { "content-type": "application/x-www-form-urlencoded" } },
    ],
    ["an empty object", { body: {} }],
  ])("are created with %s", async (_, request) => {
    expect(await tenant.manage("POST", `/applications/${applicationId}/keys`, request)).toMatchObject({ status: 201 });
  });

  it("have a name, an owner and an end, if their maker says so, and keep name and owner when they are replaced", async () => {
    const { body: application } = await tenant.manage("POST", "/applications", {
      body: { name: "Shop", type: "private", permissions: ["token:create"], create_key: false },
    });
    const { id } = application;
    const details = { name: "  prod ☕", owner: "Payments", expires_at: "2040-01-02T03:04:05+01:00" };
    const { status, body } = await tenant.manage("POST", `/applications/${id}/keys`, { body: details });
    const shown = { name: "  prod ☕", owner: "Payments", expires_at: "2040-01-02T02:04:05.000Z" };
    expect([status, body]).toEqual([201, expect.objectContaining(shown)]);
    expect((await tenant.manage("GET", `/applications/${id}/keys/${body.id}`)).body).toMatchObject(shown);
    const logged = await tenant.manage("GET", `/logs?entity_id=${body.id}&operation=create`);
    expect(logged.body.data[0].changes).toEqual([
      { field: "expires_at", before: null, after: shown.expires_at, truncated: false },
    ]);
    expect(await stored.textOf(tenant.id, "application_keys")).not.toContain("Payments");
    const { body: replaced } = await tenant.manage("POST", `/applications/${id}/regenerate`);
    expect(replaced.keys).toEqual([expect.objectContaining(shown)]);
  });

  it("end with the key that makes them, if it ends, and are refused with a later end", async () => {
    const end = new Date(Date.now() + 60_000).toISOString();
    const ending = async (type: "management" | "private" | "public", permissions: readonly string[]) => {
      const { id } = await tenant.application({ type, permissions });
      const { body } = await tenant.manage("POST", `/applications/${id}/keys`, { body: { expires_at: end } });
      return { id, call: restClient(tenant.url, body.key) };
    };
    const maker = await ending("management", ["application:create", "application:update"]);
    const draft = { name: "Next", type: "private", permissions: ["token:create"] };
    const next = await maker.call("POST", "/applications", { body: draft });
    expect([next.status, next.body.keys[0]?.expires_at]).toEqual([201, end]);
    const other = await tenant.application({ type: "private", permissions: ["token:create"] });
    const replaced = await maker.call("POST", `/applications/${other.id}/regenerate`);
    expect([replaced.status, replaced.body.keys[0]?.expires_at]).toEqual([200, end]);
    const later = { expires_at: new Date(Date.parse(end) + 1).toISOString() };
    const refused = await maker.call("POST", `/applications/${other.id}/keys`, { body: later });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      { expires_at: [`must be at most ${end}, when the key used ends`] },
    ]);
    expect((await tenant.manage("GET", `/applications/${other.id}/keys`)).body.data).toHaveLength(1);
    const [page, backEnd] = [await ending("public", ["token:create"]), await ending("private", ["token:read"])];
    const session = (await page.call("POST", "/sessions")).body;
    expect(session.expires_at).toBe(end);
    const request = { nonce: session.nonce, permissions: ["token:read"] };
    const authorized = await backEnd.call("POST", "/sessions/authorize", { body: { ...request, ...later } });
    expect([authorized.status, Object.keys(authorized.body.errors)]).toEqual([400, ["expires_at"]]);
    expect((await backEnd.call("POST", "/sessions/authorize", { body: request })).status).toBe(200);
  });

  it.each([
    ["expires_at", "yesterday"],
    ["expires_at", "2020-01-01"],
    ["expires_at", ""],
    ["name", "x".repeat(201)],
    ["owner", "x".repeat(201)],
    ["name", 7],
  ])("are refused with a wrong %s, and none is made", async (field, value) => {
    const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const path = `/applications/${id}/keys`;
    const { status, body } = await tenant.manage("POST", path, { body: { [field]: value } });
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: [field] });
    expect((await tenant.manage("GET", path)).body.pagination.total_items).toBe(1);
  });

  it("are listed newest first, in pages", async () => {
    const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const path = `/applications/${id}/keys`;
    const made: string[] = [];
    for (let index = 0; index < 4; index += 1) made.unshift((await tenant.manage("POST", path)).body.id);
    const first = await tenant.manage("GET", `${path}?size=2`);
    expect(first.body.pagination).toEqual({ total_items: 5, page_number: 1, page_size: 2, total_pages: 3 });
    const second = await tenant.manage("GET", `${path}?size=2&page=2`);
    expect([...first.body.data, ...second.body.data].map((item: { id: string }) => item.id)).toEqual(made);
    expect((await tenant.manage("GET", `${path}?size=2&page=4`)).body.data).toEqual([]);
    expect(await tenant.manage("GET", `${path}?size=101`)).toMatchObject({
      status: 400,
      body: { errors: { size: [expect.any(String)] } },
    });
  });

  it("are gone after they are deleted, and are found only under their own application", async () => {
    const path = `/applications/${applicationId}/keys`;
    const { body } = await tenant.manage("POST", path);
    const other = await tenant.application({ type: "private", permissions: ["token:create"] });
    const below = `/applications/${other.id}/keys/${body.id}`;
    expect(await tenant.manage("GET", below)).toMatchObject({ status: 404 });
    expect(await tenant.manage("DELETE", below)).toMatchObject({ status: 404 });
    expect(await tenant.manage("GET", `${path}/${body.id}`)).toMatchObject({ status: 200 });
    expect(await tenant.manage("DELETE", `${path}/${body.id}`)).toMatchObject({ status: 204, body: "" });
    expect(await tenant.manage("GET", `${path}/${body.id}`)).toMatchObject({ status: 404 });
    expect(await tenant.manage("DELETE", `${path}/${body.id}`)).toMatchObject({ status: 404 });
  });

  it.each([
    ["GET", "/applications/nope/keys", "id"],
    ["POST", "/applications/nope/keys", "id"],
    ["GET", "/applications/{id}/keys/nope", "key_id"],
    ["DELETE", "/applications/{id}/keys/nope", "key_id"],
  ])("%s %s names the malformed id", async (method, path, field) => {
    const { status, body } = await tenant.manage(method, path.replace("{id}", applicationId));
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: [field] });
  });

  it.each([
    ["POST", "application:create"],
    ["GET", "application:read"],
  ])("%s needs %s", async (method, permission) => {
    const without = await tenant.application({
      type: "management",
      permissions: ["application:create", "application:read", "application:update", "application:delete"].filter(
        (one) => one !== permission,
      ),
    });
    expect(await without(method, `/applications/${applicationId}/keys`)).toMatchObject({ status: 403 });
    const holder = await tenant.application({ type: "management", permissions: [permission] });
    expect((await holder(method, `/applications/${applicationId}/keys`)).status).toBeLessThan(300);
  });

  it("are stored only as a hash", async () => {
    const { body } = await tenant.manage("POST", `/applications/${applicationId}/keys`);
    const secret = body.key.split("_")[4];
    const rows = await stored.textOf(tenant.id, "application_keys");
    expect(rows).toContain(createHash("sha256").update(body.key).digest("hex"));
    for (const table of ["application_keys", "applications", "audit_logs"] as const) {
      expect(await stored.textOf(tenant.id, table)).not.toContain(secret);
    }
  });

  it("are rejected alike, whatever is wrong with them", async () => {
    const { key } = await tenant.application({ type: "private", permissions: ["token:create", "token:read"] });
    const [, tenantText = "", secret = ""] = /^key_prod_pvt_(\w{22})_(\w{43})_/.exec(key) ?? [];
    const another = await newTenant();
    const [, otherTenant = ""] = /^key_prod_mgt_(\w{22})_/.exec(another.managementKey) ?? [];
    const wrong = {
      "an invented text": "let-me-in",
      "an older form": "key_abcdefghijklmnopqrstuv",
      "a wrong checksum": `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`,
      "a wrong secret": withChecksum(`key_prod_pvt_${tenantText}_${secret.split("").toReversed().join("")}`),
      "another kind": withChecksum(`key_prod_mgt_${tenantText}_${secret}`),
      "the kind of sessions": withChecksum(`key_prod_ses_${tenantText}_${secret}`),
      "the kind of proxies": withChecksum(`key_prod_prx_${tenantText}_${secret}`),
      "another tenant": withChecksum(`key_prod_pvt_${otherTenant}_${secret}`),
      "an invalid tenant": withChecksum(`key_prod_pvt_${"z".repeat(22)}_${secret}`),
      "a longer text": `${key}x`,
      "blanks around it": `x ${key}`,
      "another case": key.toUpperCase(),
    };
    const responses = new Set<string>();
    for (const text of Object.values(wrong)) {
      const { status, body } = await restClient(tenant.url, text)("GET", "/tokens/abc");
      const { instance: _, ...shown } = body;
      responses.add(JSON.stringify({ status, ...shown }));
    }
    expect([...responses].map((response) => JSON.parse(response))).toEqual([
      expect.objectContaining({ status: 401, code: "unauthenticated", title: "Unauthorized" }),
    ]);
    expect(await restClient(tenant.url, key)("GET", "/tokens/abc")).toMatchObject({ status: 404 });
  });
});
