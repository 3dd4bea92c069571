import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

/*
 * What the owner of the database can try without the root key: to put a whole row back, with its seal, to what it was before
 * rights were taken away.
 */

let tenant: TestTenant;
let stored: Stored;
beforeAll(async () => {
  tenant = await newTenant();
  stored = await openStored();
});
afterAll(() => stored?.[Symbol.asyncDispose]());

const edit = (statement: string) => stored.change(tenant.id, statement);

/** Keeps a row in a table of the attacker's, lets the change happen, and puts it back. */
async function putBack(table: string, id: string, change: () => Promise<unknown>): Promise<void> {
  await edit(`create table if not exists kept_${table} as select * from ${table} where false`);
  await edit(`insert into kept_${table} select * from ${table} where id = '${id}'`);
  await change();
  await edit(`delete from ${table} where id = '${id}'`);
  await edit(`insert into ${table} select * from kept_${table} where id = '${id}'`);
  await edit(`drop table kept_${table}`);
}

async function findings(): Promise<readonly { readonly kind: string; readonly detail: string }[]> {
  const { stdout } = await cloakroom(
    inject("serverEnvironment"),
    ...["audit", "verify", "--tenant", tenant.id, "--json"],
  );
  return JSON.parse(stdout)[0].findings;
}

const memberWith = async (role: "ADMIN" | "DEVELOPER") => {
  const email = await newMember(tenant, role);
  const { body } = await tenant.manage("GET", "/tenants/self/members?size=50");
  return String(body.data.find(({ user }: { user: { email: string } }) => user.email === email).id);
};
const updated = async (path: string, body: object) => {
  expect(await tenant.manage("PUT", path, { body })).toMatchObject({ status: 200 });
};

describe("verify finds", () => {
  it("nothing where rows are as the log says, whatever was changed", async () => {
    const id = await memberWith("ADMIN");
    await updated(`/tenants/self/members/${id}`, { role: "AUDITOR" });
    await updated(`/tenants/self/members/${id}`, { role: "DEVELOPER" });
    const { id: application } = await tenant.backEnd();
    await updated(`/applications/${application}`, { name: "A", permissions: ["token:create"] });
    await memberWithPasskey(tenant, "ADMIN");
    expect(await findings()).toEqual([]);
  });

  it("a member who has a former role again", async () => {
    const id = await memberWith("ADMIN");
    await putBack("members", id, () => updated(`/tenants/self/members/${id}`, { role: "DEVELOPER" }));
    const detail = `the rights of the member ${id} are those from before a change that the log has`;
    expect(await findings()).toMatchObject([{ kind: "rights_changed", detail }]);
    await updated(`/tenants/self/members/${id}`, { role: "DEVELOPER" });
    expect(await findings()).toEqual([]);
  });

  it("a member whose sign-ins need no passkey any more", async () => {
    const { email } = await memberWithPasskey(tenant, "ADMIN");
    const { body } = await tenant.manage("GET", "/tenants/self/members?size=50");
    const { id } = body.data.find(({ user }: { user: { email: string } }) => user.email === email);
    const other = await memberWith("ADMIN");
    // The seal of another row, of a member without passkeys, does not open here.
    await edit(`update members set profile = (select profile from members where id = '${other}') where id = '${id}'`);
    const detail = `the row of the member ${id} was not written by this vault`;
    expect(await findings()).toMatchObject([{ kind: "rights_changed", detail }]);
    await edit(`delete from members where id = '${id}'`);
  });

  it("an application that has former rights again", async () => {
    const { id } = await tenant.backEnd();
    await putBack("applications", id, () =>
      updated(`/applications/${id}`, { name: "Less", permissions: ["token:create"] }),
    );
    const detail = `the rights of the application ${id} are those from before a change that the log has`;
    expect(await findings()).toMatchObject([{ kind: "rights_changed", detail }]);
    expect(await tenant.manage("DELETE", `/applications/${id}`)).toMatchObject({ status: 204 });
    expect(await findings()).toEqual([]);
  });

  it("an application that is there again after it was deleted", async () => {
    const { id } = await tenant.backEnd();
    await putBack("applications", id, () => tenant.manage("DELETE", `/applications/${id}`));
    const detail = `the application ${id} was deleted, and its row is there again`;
    expect(await findings()).toMatchObject([{ kind: "rights_changed", detail }]);
    await edit(`delete from applications where id = '${id}'`);
  });

  it("a key that is there again after it was deleted", async () => {
    const { id } = await tenant.backEnd();
    const { body } = await tenant.manage("POST", `/applications/${id}/keys`);
    const path = `/applications/${id}/keys/${body.id}`;
    await putBack("application_keys", body.id, () => tenant.manage("DELETE", path));
    const detail = `the application key ${body.id} was deleted, and its row is there again`;
    expect(await findings()).toMatchObject([{ kind: "rights_changed", detail }]);
    expect(await tenant.manage("DELETE", path)).toMatchObject({ status: 204 });
  });
});

describe("the author of an application", () => {
  it("is not who the database says", async () => {
    const { id } = await tenant.backEnd();
    await edit(`update applications set created_by = '${tenant.id}' where id = '${id}'`);
    expect(await tenant.manage("GET", `/applications/${id}`)).toMatchObject({ status: 500 });
    expect(await tenant.manage("DELETE", `/applications/${id}`)).toMatchObject({ status: 500 });
  });

  it("nor is that of a key", async () => {
    const { id } = await tenant.backEnd();
    const { body } = await tenant.manage("POST", `/applications/${id}/keys`);
    await edit(`update application_keys set created_by = '${tenant.id}' where id = '${body.id}'`);
    expect(await tenant.manage("DELETE", `/applications/${id}/keys/${body.id}`)).toMatchObject({ status: 500 });
  });
});
