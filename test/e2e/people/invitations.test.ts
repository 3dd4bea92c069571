import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const HOURS_72 = 72 * 60 * 60_000;
const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
});
const invite = (email: unknown, more: object = {}) =>
  tenant.manage("POST", "/tenants/self/invitations", { body: { email, ...more } });
const operationsOn = async (id: string) => {
  const { body } = await tenant.manage("GET", `/logs?entity_id=${id}`);
  return body.data.map(({ operation }: { operation: string }) => operation);
};

describe("an invitation", () => {
  it("is pending for 72 hours", async () => {
    const { status, body } = await invite("ada@example.com");
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(UUID),
      tenant_id: tenant.id,
      email: "ada@example.com",
      status: "PENDING",
      role: "ADMIN",
      expires_at: expect.stringMatching(TIME),
      created_by: expect.stringMatching(UUID),
      created_at: expect.stringMatching(TIME),
    });
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(HOURS_72);
    expect(await tenant.manage("GET", `/tenants/self/invitations/${body.id}`)).toMatchObject({ status: 200, body });
    expect(await operationsOn(body.id)).toEqual(["read", "create"]);
  });

  it.each(['"grace hopper"@example.com', "o'hara+x@example.com", "grace@[192.0.2.1]", "grace@localhost"])(
    "may be for %s",
    async (email) => {
      expect(await invite(email)).toMatchObject({ status: 201, body: { email } });
    },
  );

  it.each([
    ["no address", undefined, {}, "email"],
    ["an empty address", "", {}, "email"],
    ["a number", 5, {}, "email"],
    ["two addresses", "a@example.com, b@example.com", {}, "email"],
    ["a name with it", "Ada <ada2@example.com>", {}, "email"],
    ["dots in a row", "a..b@example.com", {}, "email"],
    ["a line break", "a@example.com\r\nBcc: eve@example.com", {}, "email"],
    ["331 characters", `${"x".repeat(319)}@example.com`, {}, "email"],
    ["the role of the owner", "x@example.com", { role: "OWNER" }, "role"],
    ["an unknown role", "x@example.com", { role: "READER" }, "role"],
  ])("is not created with %s", async (_, email, more, field) => {
    const { status, body } = await invite(email, more);
    expect({ status, code: body.code, fields: Object.keys(body.errors ?? {}) }).toEqual({
      status: 400,
      code: "validation_failed",
      fields: [field],
    });
  });

  it("is not created for an invited person or member, in upper or lower case", async () => {
    await invite("twice@example.com");
    for (const email of ["twice@example.com", "Twice@Example.com", '"twice"@example.com', "OWNER@example.com"]) {
      const { status, body } = await invite(email);
      expect([status, Object.keys(body.errors ?? {})], email).toEqual([400, ["email"]]);
    }
  });

  it("is created once by several concurrent requests", async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => invite("raced@example.com")));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 400, 400, 400, 400, 400, 400, 400]);
  });

  it("is created once by a request that is repeated with its idempotency key", async () => {
    const headers = { "BT-IDEMPOTENCY-KEY": "invite-once" };
    const body = { email: "repeated@example.com" };
    const first = await tenant.manage("POST", "/tenants/self/invitations", { body, headers });
    const again = await tenant.manage("POST", "/tenants/self/invitations", { body, headers });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
  });

  it("is sent again once for each of several concurrent requests", async () => {
    const { body: made } = await invite("often@example.com");
    const responses = await Promise.all(
      [1, 2, 3, 4].map(() => tenant.manage("POST", `/tenants/self/invitations/${made.id}/resend`)),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { body } = await tenant.manage("GET", `/tenants/self/invitations/${made.id}`);
    expect(Date.parse(body.expires_at)).toBe(Date.parse(made.expires_at) + 4 * HOURS_72);
  });

  it("is sent again with another 72 hours", async () => {
    const { body: made } = await invite("again@example.com");
    const { status, body } = await tenant.manage("POST", `/tenants/self/invitations/${made.id}/resend`);
    expect(status).toBe(200);
    expect(body).toEqual({
      ...made,
      expires_at: new Date(Date.parse(made.expires_at) + HOURS_72).toISOString(),
      modified_by: made.created_by,
      modified_at: expect.stringMatching(TIME),
    });
    expect(await operationsOn(made.id)).toEqual(["resend", "create"]);
  });

  it("is gone once it is deleted", async () => {
    const { body: made } = await invite("deleted@example.com");
    const path = `/tenants/self/invitations/${made.id}`;
    expect((await tenant.manage("DELETE", path)).status).toBe(204);
    for (const [method, at] of [
      ["GET", path],
      ["DELETE", path],
      ["POST", `${path}/resend`],
    ] as const) {
      expect((await tenant.manage(method, at)).status, `${method} ${at}`).toBe(404);
    }
    expect((await invite("deleted@example.com")).status).toBe(201);
    expect(await operationsOn(made.id)).toEqual(["delete", "create"]);
  });

  it("is invisible to other tenants", async () => {
    const other = await newTenant();
    const { body: made } = await invite("mine@example.com");
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/resend"],
    ] as const) {
      expect((await other.manage(method, `/tenants/self/invitations/${made.id}${path}`)).status).toBe(404);
    }
    expect((await tenant.manage("GET", `/tenants/self/invitations/${UNKNOWN_ID}`)).status).toBe(404);
    expect((await tenant.manage("GET", "/tenants/self/invitations/none")).status).toBe(400);
  });
});

describe("each permission", () => {
  it.each([
    ["tenant:invitation:create", ["POST", "POST resend"]],
    ["tenant:invitation:update", ["POST resend"]],
    ["tenant:invitation:read", ["GET", "GET all"]],
    ["tenant:invitation:delete", ["DELETE"]],
  ])("%s is needed for %j and nothing else", async (missing, refused) => {
    const verbs = ["create", "read", "update", "delete"];
    const all = verbs.map((verb) => `tenant:invitation:${verb}`);
    // What a DEVELOPER holds: a key gives no role that holds more than the key.
    const building = ["application", "proxy", "reactor"].flatMap((kind) => verbs.map((verb) => `${kind}:${verb}`));
    const client = await tenant.application({
      type: "management",
      permissions: [...building, ...all.filter((permission) => permission !== missing)],
    });
    const role = "DEVELOPER";
    const { body: made } = await invite(`without-${missing.replaceAll(":", "-")}@example.com`, { role });
    const path = `/tenants/self/invitations/${made.id}`;
    const responses = {
      POST: await client("POST", "/tenants/self/invitations", {
        body: { email: `by-${missing.replaceAll(":", "-")}@example.com`, role },
      }),
      "POST resend": await client("POST", `${path}/resend`),
      GET: await client("GET", path),
      "GET all": await client("GET", "/tenants/self/invitations"),
      DELETE: await client("DELETE", path),
    };
    const forbidden = Object.entries(responses).filter(([, { status }]) => status === 403);
    expect(forbidden.map(([name]) => name)).toEqual(refused);
    for (const [name, { status }] of Object.entries(responses)) expect(status, name).not.toBe(500);
  });
});

describe("a key", () => {
  it("gives no role that holds more than the key", async () => {
    const permissions = ["tenant:invitation:create", "tenant:invitation:update", "tenant:member:update"];
    const client = await tenant.application({ type: "management", permissions });
    for (const role of ["ADMIN", "AUDITOR", "DEVELOPER"]) {
      const body = { email: `limited-${role}@example.com`, role };
      const refused = await client("POST", "/tenants/self/invitations", { body });
      expect(refused).toMatchObject({ status: 403, body: { code: "permission_denied" } });
      expect(refused.body.detail ?? refused.body.message).toContain(
        `Giving the role ${role} needs a key that holds as much`,
      );
    }
    const { body: made } = await invite("made-by-a-stronger-key@example.com");
    expect((await client("POST", `/tenants/self/invitations/${made.id}/resend`)).status).toBe(403);
  });
});

describe("the list", () => {
  it("shows pages, newest first, and nothing past the end", async () => {
    const other = await newTenant();
    for (const name of ["a", "b", "c"]) {
      await other.manage("POST", "/tenants/self/invitations", { body: { email: `${name}@example.com` } });
    }
    const list = async (query: string) => (await other.manage("GET", `/tenants/self/invitations${query}`)).body;
    const emails = ({ data }: { data: { email: string }[] }) => data.map(({ email }) => email);
    expect(emails(await list(""))).toEqual(["c@example.com", "b@example.com", "a@example.com"]);
    expect(await list("?size=2&page=2")).toMatchObject({
      pagination: { total_items: 3, page_number: 2, page_size: 2, total_pages: 2 },
      data: [{ email: "a@example.com" }],
    });
    expect(await list("?page=100")).toMatchObject({ pagination: { total_items: 3 }, data: [] });
    expect(emails(await list("?status=PENDING"))).toHaveLength(3);
    expect(await list("?status=EXPIRED")).toMatchObject({ pagination: { total_items: 0 }, data: [] });
  });

  it.each(["page=0", "size=0", "size=101", "status=OPEN", "page=x"])("rejects ?%s", async (query) => {
    const { status, body } = await tenant.manage("GET", `/tenants/self/invitations?${query}`);
    expect([status, Object.keys(body.errors)]).toEqual([400, [query.split("=")[0]]]);
  });
});
