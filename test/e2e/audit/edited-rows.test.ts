import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newUuid } from "../../../src/base/ids.js";
import { nextLink } from "../../support/mail.js";
import { newMember } from "../../support/member.js";
import { connect, openShop } from "../../support/payments.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn } from "../../support/test-browser.js";

/*
 * What the owner of the database can try without the root key: to grant permissions by editing rows, and to have a
 * sealed value opened where it does not belong.
 */

const SECRET = "edited-rows-secret";
const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };
const READ = { permissions: ["token:read"] };

let tenant: TestTenant;
let stored: Stored;
let backEnd: Awaited<ReturnType<TestTenant["backEnd"]>>;
let token: string;
beforeAll(async () => {
  tenant = await newTenant();
  stored = await openStored();
  backEnd = await tenant.backEnd();
  token = await create();
});
afterAll(() => stored?.[Symbol.asyncDispose]());

async function create(more: object = {}): Promise<string> {
  const { status, body } = await backEnd("POST", "/tokens", { body: { type: "token", data: SECRET, ...more } });
  expect(status).toBe(201);
  return body.id;
}

const edit = (statement: string) => stored.change(tenant.id, statement);
/** Each starts with a key that no server has seen yet, so none of its permissions are cached. */
const newClerk = () => tenant.application({ type: "private", permissions: ["token:create"] });
const secondKeyOf = async (id: string) => {
  const { body } = await tenant.manage("POST", `/applications/${id}/keys`);
  return { client: restClient(tenant.url, body.key), keyId: String(body.id) };
};

/** The server fails on a row that it did not write. Nothing of the value is in the response. */
async function expectClosed(client: RestClient, id = token): Promise<void> {
  const response = await client("GET", `/tokens/${id}`);
  expect(response).toMatchObject({ status: 500, body: { code: "internal" } });
  expect(JSON.stringify(response.body)).not.toContain(SECRET);
}

const IN_CLEAR = JSON.stringify({
  ...{ name: "Test application", permissions: ["token:read"] },
  rules: [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:read"] }],
});
const asBytes = (text: string) => `convert_to('${text}', 'UTF8')`;

describe("the permissions of an application", () => {
  it.each([
    ["without their seal", (id: string) => `update applications set definition = '' where id = '${id}'`],
    ["in clear text", (id: string) => `update applications set definition = ${asBytes(IN_CLEAR)} where id = '${id}'`],
    [
      "in a sealed format that is not known",
      (id: string) => `update applications set definition = '\\x02' || substring(definition from 2) where id = '${id}'`,
    ],
    [
      "moved from another application",
      (id: string) =>
        `update applications set definition = (select definition from applications where id = '${backEnd.id}')
         where id = '${id}'`,
    ],
    ["under another type", (id: string) => `update applications set type = 'management' where id = '${id}'`],
  ])("grant nothing %s", async (_, statement) => {
    const clerk = await newClerk();
    await edit(statement(clerk.id));
    await expectClosed(clerk);
    expect((await tenant.manage("GET", `/applications/${clerk.id}`)).status).toBe(500);
    expect((await backEnd("GET", `/tokens/${token}`)).body.data).toBe(SECRET);
  });
});

describe("a key of an application", () => {
  it.each([
    ["moved to another application", (keyId: string) => `application_id = '${backEnd.id}' where id = '${keyId}'`],
    ["without its seal", (keyId: string) => `proof = '', application_id = '${backEnd.id}' where id = '${keyId}'`],
  ])("opens nothing %s", async (_, change) => {
    const clerk = await newClerk();
    const { client, keyId } = await secondKeyOf(clerk.id);
    await edit(`update application_keys set ${change(keyId)}`);
    await expectClosed(client);
  });

  it("opens nothing under the id and seal of another one", async () => {
    const [clerk, victim] = [await newClerk(), await tenant.backEnd()];
    await edit(`
      with taken as (delete from application_keys where application_id = '${clerk.id}' returning key_hash)
      update application_keys set key_hash = (select key_hash from taken) where application_id = '${victim.id}'`);
    await expectClosed(clerk);
  });
});

describe("a session", () => {
  const open = async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { body } = await page("POST", "/sessions");
    return { nonce: String(body.nonce), session: restClient(tenant.url, body.session_key), page };
  };
  const authorize = async (nonce: string, rights: object = READ) =>
    backEnd("POST", "/sessions/authorize", { body: { nonce, ...rights } });
  const ofPage = ({ id }: { readonly id: string }) => `where application_id = '${id}'`;

  it.each([
    ["ends later than it was made to", "expires_at = expires_at + interval '1 hour'"],
    ["has no seal", "rights = ''"],
    ["has rights in clear text", `rights = ${asBytes(IN_CLEAR)}`],
    ["has no authorizer", "authorized_by = null"],
    ["is authorized by another application", `authorized_by = application_id`],
  ])("opens nothing that %s", async (_, change) => {
    const { nonce, session, page } = await open();
    expect((await authorize(nonce)).status).toBe(200);
    await edit(`update sessions set ${change} ${ofPage(page)}`);
    await expectClosed(session);
  });

  it("opens nothing with the rights of another one", async () => {
    const [weak, strong] = [await open(), await open()];
    expect((await authorize(weak.nonce, { permissions: ["token:create"] })).status).toBe(200);
    expect((await authorize(strong.nonce)).status).toBe(200);
    await edit(
      `update sessions set rights = (select rights from sessions ${ofPage(strong.page)}) ${ofPage(weak.page)}`,
    );
    await expectClosed(weak.session);
    expect((await strong.session("GET", `/tokens/${token}`)).status).toBe(200);
  });

  it("is not authorized if another session's nonce was moved to it", async () => {
    const [mine, theirs] = [await open(), await open()];
    await edit(`
      with taken as (delete from sessions ${ofPage(theirs.page)} returning nonce_hash)
      update sessions set nonce_hash = (select nonce_hash from taken) ${ofPage(mine.page)}`);
    expect(await authorize(theirs.nonce)).toMatchObject({ status: 500 });
    expect((await mine.session("GET", `/tokens/${token}`)).status).toBe(500);
  });
});

describe("a token", () => {
  it.each([
    ["in another container", "containers = '{/free/}'"],
    ["as another type", "type = 'social_security_number'"],
    ["as another one's duplicate", "dedupe_key = '\\x00'"],
    ["as an earlier version", "revision = revision - 1"],
  ])("does not open %s", async (_, change) => {
    const id = await create({ containers: ["/a/"] });
    const patch = { headers: MERGE_PATCH, body: { metadata: { note: "second" } } };
    expect((await backEnd("PATCH", `/tokens/${id}`, patch)).status).toBe(200);
    await edit(`update tokens set ${change} where id = '${id}'`);
    await expectClosed(backEnd, id);
  });

  it("does not open with a value that it had before", async () => {
    const [id, hiding] = [await create(), await create()];
    const copy = (from: string, to: string) =>
      edit(`update tokens set data = (select data from tokens where id = '${from}') where id = '${to}'`);
    await copy(id, hiding);
    await expectClosed(backEnd, hiding);
    const patch = { headers: MERGE_PATCH, body: { data: "later" } };
    expect((await backEnd("PATCH", `/tokens/${id}`, patch)).status).toBe(200);
    await copy(hiding, id);
    await expectClosed(backEnd, id);
  });
});

describe("other stored data of a tenant", () => {
  it("is stored under an opaque key in place of its name", async () => {
    const name = `Edited rows ${process.pid}`;
    const code = "module.exports = async () => ({ raw: 1 });";
    const bodies = {
      "/proxies": { name, destination_url: "https://example.com" },
      "/reactors": { name, code },
      "/reactor-formulas": { name, type: "private", code },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const made = await tenant.manage("POST", path, { body });
      expect(made, path).toMatchObject({ status: 201, body: { name } });
      const found = await tenant.manage("GET", `${path}?name=${encodeURIComponent("edited*")}`);
      expect(found.body.data.map(({ id }: { id: string }) => id)).toEqual([made.body.id]);
      const other = await tenant.manage("GET", `${path}?name=nothing`);
      expect(other.body.data).toEqual([]);
    }
    for (const table of ["proxies", "applications"] as const) {
      const text = await stored.textOf(tenant.id, table);
      expect(text).not.toContain(name);
      expect(text).not.toContain("Test application");
    }
  });

  it("does not act for another application", async () => {
    const { body: proxy } = await tenant.manage("POST", "/proxies", {
      body: { name: "P", destination_url: "https://example.com", application: { id: (await newClerk()).id } },
    });
    const { body: reactor } = await tenant.manage("POST", "/reactors", {
      body: { name: "R", code: "module.exports = async () => ({ raw: 1 });" },
    });
    for (const [table, id] of [
      ["proxies", proxy.id],
      ["reactors", reactor.id],
    ]) {
      const { created_by: author } = (await tenant.manage("GET", `/${table}/${id}`)).body;
      await edit(`update ${table} set created_by = '${newUuid()}' where id = '${id}'`);
      expect((await tenant.manage("GET", `/${table}/${id}`)).status).toBe(500);
      await edit(`update ${table} set created_by = '${author}' where id = '${id}'`);
      expect((await tenant.manage("GET", `/${table}/${id}`)).status).toBe(200);
    }
    await edit(`update proxies set application_id = '${backEnd.id}' where id = '${proxy.id}'`);
    await edit(`update reactors set application_id = '${backEnd.id}' where id = '${reactor.id}'`);
    expect((await tenant.manage("GET", `/proxies/${proxy.id}`)).status).toBe(500);
    expect((await tenant.manage("GET", `/reactors/${reactor.id}`)).status).toBe(500);
  });

  it("does not pay in another currency, with another card or from another payment's record", async () => {
    const shop = await openShop([], tenant);
    const paid = await shop.pay();
    expect(paid.status).toBe(201);
    const second = await shop.pay();
    const read = (id: string) => shop.backEnd("GET", `/orchestration/transactions/${id}`);
    await edit(`update payments set token_id = '${token}' where id = '${paid.body.id}'`);
    expect((await read(paid.body.id)).status).toBe(500);
    await edit(`update payments set status = 'declined' where id = '${second.body.id}'`);
    expect((await read(second.body.id)).status).toBe(500);
    const connection = await connect(tenant);
    await edit(`update connections set accepted_currencies = '{EUR}' where id = '${connection}'`);
    expect((await tenant.manage("GET", `/orchestration/connections/${connection}`)).status).toBe(500);
  });
});

describe("an invitation", () => {
  it.each(["OWNER", "ADMIN"])("makes no member if its role was changed to %s", async (role) => {
    const email = `invited-${role.toLowerCase()}-${tenant.id.slice(-12)}@example.com`;
    const invited = { body: { email, role: "DEVELOPER" } };
    const { body } = await tenant.manage("POST", "/tenants/self/invitations", invited);
    const link = await nextLink(email, 0);
    await edit(`update invitations set role = '${role}' where id = '${body.id}'`);
    expect((await fetch(link, { method: "POST" })).status).toBe(500);
    expect(JSON.stringify((await tenant.manage("GET", "/tenants/self/members?size=50")).body)).not.toContain(email);
    await edit(`update invitations set role = 'DEVELOPER' where id = '${body.id}'`);
    expect((await fetch(link, { method: "POST" })).status).toBe(200);
  });
});

describe("a member", () => {
  it.each(["OWNER", "ADMIN"])(
    "is not given the role %s by who sends the role that the column was changed to",
    async (role) => {
      const email = await newMember(tenant, "DEVELOPER");
      const { body } = await tenant.manage("GET", "/tenants/self/members?size=50");
      const { id } = body.data.find(({ user }: { user: { email: string } }) => user.email === email);
      const weak = await tenant.application({ type: "management", permissions: ["tenant:member:update"] });
      await edit(`update members set role = '${role}' where id = '${id}'`);
      expect((await weak("PUT", `/tenants/self/members/${id}`, { body: { role } })).status).toBe(500);
      await edit(`update members set role = 'DEVELOPER' where id = '${id}'`);
      const who = await (await signedIn(tenant.id, email)).call("SignInService/WhoAmI");
      expect(who.body.role).toBe("DEVELOPER");
    },
  );
});
