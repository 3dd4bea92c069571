import { beforeAll, describe, expect, it } from "vitest";
import { nextLink } from "../../support/mail.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";
const MEMBERS = "/tenants/self/members";

interface Shown {
  readonly id: string;
  readonly role: string;
  readonly user: { readonly id: string; readonly email: string };
}

let tenant: TestTenant;
let owner: Shown;
let admins: Shown[];
const addressOf = (name: string) => `${name}-${tenant.id.slice(-12)}@example.com`;
const invite = (email: string) => tenant.manage("POST", "/tenants/self/invitations", { body: { email } });
const join = async (name: string, seen = 0) => {
  await invite(addressOf(name));
  const link = await nextLink(addressOf(name), seen);
  expect((await fetch(link, { method: "POST" })).status).toBe(200);
  return link;
};
const list = async (query = ""): Promise<Shown[]> => (await tenant.manage("GET", `${MEMBERS}${query}`)).body.data;
const put = (id: string, body: unknown, type = "application/json") =>
  tenant.manage("PUT", `${MEMBERS}/${id}`, { body, headers: { "Content-Type": type } });

beforeAll(async () => {
  tenant = await newTenant();
  await Promise.all(["ada", "bob", "eve"].map((name) => join(name)));
  const all = await list();
  admins = all.filter(({ role }) => role === "ADMIN");
  const [first] = all.filter(({ role }) => role === "OWNER");
  if (!first) throw new Error("there is no owner");
  owner = first;
});

describe("members", () => {
  it("are the owner and everyone who accepted, newest first, in pages of up to 50", async () => {
    const all = await list();
    expect(all).toHaveLength(4);
    expect(all.at(-1)).toEqual({
      id: expect.stringMatching(UUID),
      tenant_id: tenant.id,
      role: "OWNER",
      user: { id: (await tenant.manage("GET", "/tenants/self")).body.owner_id, email: "owner@example.com" },
      created_at: expect.stringMatching(TIME),
      created_date: expect.stringMatching(TIME),
    });
    const { body } = await tenant.manage("GET", `${MEMBERS}?page=2&size=3`);
    expect(body.pagination).toEqual({ total_items: 4, page_number: 2, page_size: 3, total_pages: 2 });
    expect(body.data.map(({ id }: Shown) => id)).toEqual([owner.id]);
    expect((await tenant.manage("GET", `${MEMBERS}?page=50&size=50`)).body).toMatchObject({
      pagination: { total_items: 4, total_pages: 1 },
      data: [],
    });
  });

  it.each(["size=51", "size=0", "page=0", "user_id=none"])("are not listed by ?%s", async (query) => {
    const { status, body } = await tenant.manage("GET", `${MEMBERS}?${query}`);
    expect(status).toBe(400);
    expect(Object.keys(body.errors)[0]).toContain(query.split("=")[0]);
  });

  it("user_id filters the list, repeated and in any case", async () => {
    const [one, two] = admins;
    const found = await list(`?user_id=${one?.user.id}&user_id=${two?.user.id.toUpperCase()}&user_id=${UNKNOWN_ID}`);
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set([one?.id, two?.id]));
    expect(await list(`?user_id=${UNKNOWN_ID}`)).toEqual([]);
  });

  it("have an owner, and the roles can be listed", async () => {
    expect(await tenant.manage("GET", "/tenants/self/owner")).toMatchObject({ status: 200, body: owner });
    expect(await tenant.manage("GET", "/roles")).toMatchObject({
      status: 200,
      body: [{ name: "OWNER" }, { name: "ADMIN" }, { name: "AUDITOR" }, { name: "DEVELOPER" }],
    });
  });

  it("are invisible to other tenants", async () => {
    const other = await newTenant();
    const id = admins[0]?.id ?? "";
    expect((await other.manage("DELETE", `${MEMBERS}/${id}`)).status).toBe(404);
    expect((await other.manage("PUT", `${MEMBERS}/${id}`, { body: { role: "ADMIN" } })).status).toBe(404);
    expect((await other.manage("GET", MEMBERS)).body.data).toHaveLength(1);
  });
});

describe("a role", () => {
  it.each(["application/json", "application/json-patch+json", "text/json"])("is set with %s", async (type) => {
    const [member] = admins;
    expect(await put(member?.id ?? "", { role: "ADMIN" }, type)).toMatchObject({
      status: 200,
      body: { ...member, modified_by: expect.stringMatching(UUID), modified_at: expect.stringMatching(TIME) },
    });
  });

  it.each([
    ["none", {}],
    ["an unknown one", { role: "READER" }],
    ["the owner's", { role: "OWNER" }],
    ["one in other letters", { role: "admin" }],
    ["a number", { role: 1 }],
  ])("is not %s", async (_, body) => {
    const response = await put(admins[0]?.id ?? "", body);
    expect([response.status, Object.keys(response.body.errors ?? {})]).toEqual([400, ["role"]]);
  });

  it("cannot be changed if it is the owner's", async () => {
    expect(await put(owner.id, { role: "ADMIN" })).toMatchObject({ status: 422, body: { code: "unprocessable" } });
    expect(await put(owner.id, { role: "OWNER" })).toMatchObject({ status: 200, body: { role: "OWNER" } });
    expect((await put(UNKNOWN_ID, { role: "ADMIN" })).status).toBe(404);
  });
});

describe("removing", () => {
  it("the owner is rejected", async () => {
    expect(await tenant.manage("DELETE", `${MEMBERS}/${owner.id}`)).toMatchObject({ status: 422 });
    expect((await tenant.manage("GET", "/tenants/self/owner")).body.id).toBe(owner.id);
  });

  it("a member ends their links and allows another invitation", async () => {
    const link = await join("gone");
    const [member] = (await list()).filter(({ user }) => user.email === addressOf("gone"));
    expect((await fetch(link)).status).toBe(200);
    expect(await tenant.manage("DELETE", `${MEMBERS}/${member?.id}`)).toMatchObject({ status: 204, body: "" });
    expect((await fetch(link)).status).toBe(404);
    expect((await fetch(link, { method: "POST" })).status).toBe(404);
    expect((await list()).map(({ user }) => user.email)).not.toContain(addressOf("gone"));
    expect((await tenant.manage("DELETE", `${MEMBERS}/${member?.id}`)).status).toBe(404);
    const { body: log } = await tenant.manage("GET", `/logs?entity_id=${member?.id}`);
    expect(log.data.map(({ operation }: { operation: string }) => operation)).toEqual(["delete", "create"]);
    await join("gone", 1);
    expect((await list()).filter(({ user }) => user.email === addressOf("gone"))).toHaveLength(1);
  });

  it("happens once for several concurrent requests", async () => {
    const [member] = admins;
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => tenant.manage("DELETE", `${MEMBERS}/${member?.id}`)),
    );
    expect(responses.map(({ status }) => status).toSorted()).toEqual([204, 404, 404, 404, 404, 404]);
  });
});

describe("each permission", () => {
  it.each([
    ["tenant:member:read", ["GET", "GET owner", "GET roles"]],
    ["tenant:member:update", ["PUT"]],
    ["tenant:member:delete", ["DELETE"]],
  ])("%s is needed for %j and nothing else", async (missing, refused) => {
    const all = ["read", "update", "delete"].map((verb) => `tenant:member:${verb}`);
    const client = await tenant.application({
      type: "management",
      permissions: all.filter((permission) => permission !== missing),
    });
    const responses = {
      GET: await client("GET", MEMBERS),
      "GET owner": await client("GET", "/tenants/self/owner"),
      "GET roles": await client("GET", "/roles"),
      PUT: await client("PUT", `${MEMBERS}/${UNKNOWN_ID}`, { body: { role: "ADMIN" } }),
      DELETE: await client("DELETE", `${MEMBERS}/${UNKNOWN_ID}`),
    };
    const forbidden = Object.entries(responses).filter(([, { status }]) => status === 403);
    expect(forbidden.map(([name]) => name)).toEqual(refused);
  });
});
