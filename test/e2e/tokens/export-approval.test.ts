import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { failureOf, rpcClient } from "../../support/rpc.js";
import { openStored } from "../../support/stored.js";
import type { TestTenant } from "../../support/tenant.js";
import { AgreeingTenant, ClockedServer, type Colleague } from "./support/agreeing-people.js";

type Application = Awaited<ReturnType<TestTenant["application"]>>;

const RIGHTS = ["token:export", "token:create", "token:update"];
const ruled = (transform: string) => [{ priority: 1, container: "/", transform, permissions: RIGHTS }];

let server: ClockedServer;
beforeAll(async () => {
  server = await ClockedServer.start();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

describe("an export that two people must agree to", () => {
  let people: AgreeingTenant;
  let tenant: TestTenant;
  let exporter: Application;
  let owner: Colleague;
  let admin: Colleague;
  beforeAll(async () => {
    people = await AgreeingTenant.create(server);
    ({ tenant, owner } = people);
    const [first] = await people.settled(1);
    if (!first) throw new Error("nobody joined");
    admin = first;
    exporter = await exporterIn("reveal");
    expect((await people.setApproval(owner, "true")).status).toBe(200);
  });
  const exporterIn = async (transform: string): Promise<Application> => {
    const made = await tenant.application({ type: "private", rules: ruled(transform) });
    for (const container of ["/pci/a/", "/other/"]) await store(made, container, "secret value");
    return made;
  };
  const store = async (by: Application, container: string, data: string): Promise<string> => {
    const made = await by("POST", "/tokens", { body: { type: "token", data, containers: [container] } });
    expect(made.status).toBe(201);
    return made.body.id;
  };
  const request = (by: Colleague, application: { readonly id: string }, fields: object = {}) =>
    by.call("TokenExportService/RequestTokenExport", {
      ...{ applicationId: application.id, reason: "moving out" },
      ...fields,
    });
  const approve = (by: Colleague, id: string) => by.call("TokenExportService/ApproveTokenExport", { id });
  const remove = (id: string) => admin.call("TokenExportService/DeleteTokenExport", { id });
  const agreed = async (application: { readonly id: string }, fields: object = {}): Promise<string> => {
    const { body } = await request(owner, application, fields);
    expect((await approve(admin, body.id)).body.state).toBe("approved");
    return body.id;
  };
  const exported = (by: Application, body: object = {}) => by("POST", "/tokens/export", { body });
  const statusOf = async (by: Application, body: object = {}) => (await exported(by, body)).status;
  const changeRules = async ({ id }: { readonly id: string }, transform: string) => {
    const body = { name: "Export", type: "private", rules: ruled(transform) };
    expect((await tenant.manage("PUT", `/applications/${id}`, { body })).status).toBe(200);
  };

  it("is refused before, works after another person's approval, and ends with it", async () => {
    expect(await statusOf(exporter)).toBe(403);
    const stream = rpcClient(TokenService, "gRPC", { url: server.here.url, key: exporter.key }).exportTokens({});
    expect((await failureOf(stream[Symbol.asyncIterator]().next())).reason).toBe("permission_denied");
    const { body: denials } = await tenant.manage("GET", "/logs?entity_type=token_export");
    expect(denials.data.map(({ outcome }: { outcome: string }) => outcome)).toEqual(["denied", "denied"]);
    const { body: asked } = await request(owner, exporter);
    const application = { applicationId: exporter.id, applicationName: "Test application" };
    const rules = [{ container: "/", transform: "reveal" }];
    const { body: keys } = await tenant.manage("GET", `/applications/${exporter.id}/keys`);
    const ids = keys.data.map(({ id }: { id: string }) => id);
    expect(asked).toMatchObject({ state: "waiting", ...application, rules, keyIds: ids, reason: "moving out" });
    expect(await statusOf(exporter)).toBe(403);
    expect(await approve(owner, asked.id)).toMatchObject({ status: 403 });
    const approval = await approve(admin, asked.id);
    expect(approval.body).toMatchObject({ state: "approved", ...application, rules, keyIds: ids });
    const { status, body } = await exported(exporter, { container: "/pci/" });
    expect([status, body.data.map(({ data }: { data: string }) => data)]).toEqual([200, ["secret value"]]);
    expect((await approve(admin, asked.id)).status).toBe(409);
    const { body: list } = await admin.call("TokenExportService/ListTokenExports");
    expect(list.data.map(({ id }: { id: string }) => id)).toEqual([asked.id]);
    expect((await remove(asked.id)).status).toBe(200);
    expect(await statusOf(exporter)).toBe(403);
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=token_export&entity_id=${asked.id}`);
    const row = ({ actor_type: by, operation }: { actor_type: string; operation: string }) => `${by} ${operation}`;
    expect(log.data.map(row)).toEqual(["user delete", "user approve", "user create"]);
  });

  it("needs none without data", async () => {
    const { status, body } = await exported(exporter, { without_data: true });
    expect([status, body.data.some(({ data }: { data?: string }) => data)]).toEqual([200, false]);
  });

  it("reads no more than was approved", async () => {
    const id = await agreed(exporter, { container: "/pci/", type: "token" });
    expect(await statusOf(exporter)).toBe(403);
    expect(await statusOf(exporter, { container: "/pci/" })).toBe(403);
    expect(await statusOf(exporter, { container: "/", type: "token" })).toBe(403);
    expect(await statusOf(exporter, { container: "/pci/a/", type: "token" })).toBe(200);
    expect(await statusOf(exporter, { query: "container:/pci/" })).toBe(403);
    expect(await statusOf(await exporterIn("reveal"), { container: "/pci/", type: "token" })).toBe(403);
    await remove(id);
  });

  it("shows no data of tokens that were made, changed or moved since it was asked for", async () => {
    const own = await exporterIn("reveal");
    const kept = await store(own, "/drop/", "kept");
    const [outside, changed] = [await store(own, "/outside/", "moved"), await store(own, "/drop/", "before")];
    await agreed(own, { container: "/drop/" });
    await store(own, "/drop/", "later");
    const headers = { "Content-Type": "application/merge-patch+json" };
    await own("PATCH", `/tokens/${outside}`, { headers, body: { containers: ["/drop/"] } });
    await own("PATCH", `/tokens/${changed}`, { headers, body: { metadata: { note: "x" } } });
    const { body } = await exported(own, { container: "/drop/" });
    expect(body.data).toHaveLength(4);
    const shown = body.data.filter(({ data }: { data?: string }) => data !== undefined);
    expect(shown.map(({ id, data }: { id: string; data: string }) => [id, data])).toEqual([[kept, "kept"]]);
  });

  it("ends with a change of the application's rights, also one back, and is not approved after it", async () => {
    const own = await exporterIn("mask");
    await agreed(own);
    expect(await statusOf(own)).toBe(200);
    await changeRules(own, "reveal");
    expect(await statusOf(own)).toBe(403);
    await changeRules(own, "mask");
    expect(await statusOf(own)).toBe(403);
    const { body: asked } = await request(owner, own);
    await changeRules(own, "reveal");
    expect((await approve(admin, asked.id)).status).toBe(409);
  });

  it("serves the keys that the application had, no new one, no session and no other application", async () => {
    const own = await exporterIn("reveal");
    await agreed(own);
    const { body: key } = await tenant.manage("POST", `/applications/${own.id}/keys`);
    expect(await statusOf(own)).toBe(200);
    expect((await own("POST", "/tokens/export", { key: key.key, body: {} })).status).toBe(403);
    const single = await exporterIn("reveal");
    await agreed(single);
    const { body: replaced } = await tenant.manage("POST", `/applications/${single.id}/regenerate`);
    expect((await single("POST", "/tokens/export", { key: replaced.key, body: {} })).status).toBe(403);
  });

  it("is asked for an application that can export", async () => {
    const reader = await tenant.application({ type: "private", permissions: ["token:read"] });
    for (const application of [reader, { id: crypto.randomUUID() }]) {
      const { status, body } = await request(owner, application);
      expect([status, body.message]).toEqual([400, expect.stringContaining("application_id")]);
    }
  });

  it("ends after an hour, as a request does", async () => {
    const own = await exporterIn("reveal");
    const { body: waiting } = await request(owner, own);
    await agreed(own);
    expect(await statusOf(own)).toBe(200);
    server.pass(1);
    expect(await statusOf(own)).toBe(403);
    expect((await approve(admin, waiting.id)).status).toBe(404);
    expect((await admin.call("TokenExportService/ListTokenExports")).body.data ?? []).toEqual([]);
  });

  it("is not approved by a change of its row in the database", async () => {
    const { body: asked } = await request(owner, exporter);
    await using stored = await openStored(server.here.environment);
    await stored.change(tenant.id, `update token_exports set approved_by = '${crypto.randomUUID()}'`);
    expect(await statusOf(exporter)).toBeGreaterThanOrEqual(403);
    await stored.change(tenant.id, `update token_exports set expires_at = now() + interval '90 days'`);
    expect(await statusOf(exporter)).toBeGreaterThanOrEqual(403);
    await stored.change(tenant.id, `delete from token_exports where id = '${asked.id}'`);
  });

  it("has no word from who joined or was given the role within a day, whatever the database says", async () => {
    const newcomer = await people.invite();
    const { body: asked } = await request(owner, exporter);
    expect((await approve(newcomer, asked.id)).body.message).toContain("24 hours");
    expect((await request(newcomer, exporter)).body.message).toContain("24 hours");
    await using stored = await openStored(server.here.environment);
    await stored.change(tenant.id, "update members set created_at = created_at - interval '7 days'");
    expect((await approve(newcomer, asked.id)).body.message).toContain("24 hours");
    const developer = await people.invite("DEVELOPER");
    server.pass(25);
    expect((await request(developer, exporter)).status).toBe(403);
    const role = { role: "ADMIN" };
    await tenant.manage("PUT", `/tenants/self/members/${developer.memberId}`, { body: role });
    server.pass(0.001);
    expect((await request(developer, exporter)).body.message).toContain("24 hours");
    expect((await request(newcomer, exporter)).status).toBe(200);
  });

  it("is asked for also after the person was given the same role once more, which changes nothing", async () => {
    const [colleague] = await people.settled(1);
    if (!colleague) throw new Error("nobody joined");
    const path = `/tenants/self/members/${colleague.memberId}`;
    expect((await tenant.manage("PUT", path, { body: { role: "ADMIN" } })).status).toBe(200);
    const asked = await request(colleague, exporter);
    expect(asked.status, JSON.stringify(asked.body)).toBe(200);
    await remove(asked.body.id);
  });

  it("ends with the membership of either person", async () => {
    for (const leaver of ["asks", "approves"] as const) {
      const own = await exporterIn("reveal");
      const [colleague] = await people.settled(1);
      if (!colleague) throw new Error("nobody joined");
      const { body: asked } = await request(leaver === "asks" ? colleague : owner, own);
      expect((await approve(leaver === "asks" ? owner : colleague, asked.id)).status).toBe(200);
      expect(await statusOf(own)).toBe(200);
      expect((await tenant.manage("DELETE", `/tenants/self/members/${colleague.memberId}`)).status).toBe(204);
      expect(await statusOf(own)).toBe(403);
    }
  });

  it.each(["asks", "approves"] as const)(
    "ends if the person who %s is changed, whatever the person is afterwards",
    async (who) => {
      const setRole = (memberId: string, role: string) =>
        tenant.manage("PUT", `/tenants/self/members/${memberId}`, { body: { role } });
      await using stored = await openStored(server.here.environment);
      const changes = [
        async (memberId: string) => {
          await setRole(memberId, "AUDITOR");
          await setRole(memberId, "ADMIN");
        },
        async (memberId: string) => {
          expect((await owner.call("PasskeyService/ResetPasskeys", { memberId })).status).toBe(200);
        },
        async (memberId: string) => {
          await setRole(memberId, "AUDITOR");
          await stored.change(tenant.id, `update members set role = 'ADMIN' where id = '${memberId}'`);
        },
      ];
      const colleagues = await people.settled(changes.length);
      for (const [index, change] of changes.entries()) {
        const colleague = colleagues[index];
        if (!colleague) throw new Error("nobody joined");
        const own = await exporterIn("reveal");
        const { body: asked } = await request(who === "asks" ? colleague : owner, own);
        expect((await approve(who === "asks" ? owner : colleague, asked.id)).status).toBe(200);
        expect(await statusOf(own)).toBe(200);
        await change(colleague.memberId);
        expect(await statusOf(own)).toBeGreaterThanOrEqual(403);
        await stored.change(
          tenant.id,
          `update members set role = 'AUDITOR' where id = '${colleague.memberId}' and ${index} = 2`,
        );
        await remove(asked.id);
      }
    },
  );

  it("is asked for until an operator decides otherwise", async () => {
    const off = await people.setApproval(owner, "false");
    expect([off.status, off.body.message]).toEqual([403, expect.stringContaining("--stop-export-approval")]);
  });
});

describe("the setting require_export_approval", () => {
  it("is switched on by the OWNER, once another person could approve", async () => {
    const people = await AgreeingTenant.create(server);
    const body = { name: "T", settings: { require_export_approval: "true" } };
    expect((await people.tenant.manage("PUT", "/tenants/self", { body })).status).toBe(403);
    const alone = await people.setApproval(people.owner, "true");
    expect([alone.status, alone.body.message]).toEqual([400, expect.stringContaining("Invite an ADMIN")]);
    const admin = await people.invite();
    expect((await people.setApproval(people.owner, "true")).body.message).toContain("24 hours");
    server.pass(25);
    expect((await people.setApproval(admin, "true")).status).toBe(403);
    expect((await people.setApproval(people.owner, "true")).status).toBe(200);
  });
});
