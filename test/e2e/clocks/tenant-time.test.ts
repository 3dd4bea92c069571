import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTenantId } from "../../../src/base/ids.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { cloakroom } from "../../support/command.js";
import { asTenant } from "../../support/databases.js";
import { nextLink } from "../../support/mail.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

describe("as time goes by", () => {
  let ahead = 0;
  let server: ServerHere;
  let sql: Sql;
  let tenant: TestTenant;
  beforeAll(async () => {
    server = await startServerHere({ LOG_LEVEL: "error" }, { clock: { now: () => Date.now() + ahead } });
    sql = connect(server.vault.ownerAddress, { connections: 2, statementTimeout: 20_000 });
    tenant = await newTenant(server.url, server.environment);
  });
  afterAll(async () => {
    await sql?.end({ timeout: 5 });
    await server?.[Symbol.asyncDispose]();
  });
  const invite = async (email: string) => {
    const { body } = await tenant.manage("POST", "/tenants/self/invitations", { body: { email } });
    return {
      path: `/tenants/self/invitations/${body.id}`,
      link: await nextLink(email, 0, server.environment),
      ...body,
    };
  };
  const statusOf = async (path: string) => (await tenant.manage("GET", path)).body.status;
  const emails = async (status: string) => {
    const { body } = await tenant.manage("GET", `/tenants/self/invitations?status=${status}`);
    return body.data.map(({ email }: { email: string }) => email);
  };

  it("an invitation expires after 72 hours, and is pending again once it is sent again", async () => {
    const old = await invite("old@example.com");
    const accepted = await invite("accepted@example.com");
    expect((await fetch(accepted.link, { method: "POST" })).status).toBe(200);

    ahead = 72 * HOUR - 60_000;
    expect(await statusOf(old.path)).toBe("PENDING");
    expect((await fetch(old.link)).status).toBe(200);
    expect((await fetch(accepted.link)).status).toBe(200);

    ahead = 72 * HOUR + 60_000;
    const young = await invite("young@example.com");
    expect(await statusOf(old.path)).toBe("EXPIRED");
    expect(await emails("EXPIRED")).toEqual(["old@example.com"]);
    expect(await emails("PENDING")).toEqual(["young@example.com"]);
    expect((await fetch(old.link)).status).toBe(404);
    expect((await fetch(old.link, { method: "POST" })).status).toBe(404);
    expect((await tenant.manage("GET", "/tenants/self/members")).body.data).toHaveLength(2);

    ahead = 30 * DAY;
    const sentAt = Date.now() + ahead;
    const { status, body } = await tenant.manage("POST", `${old.path}/resend`);
    expect([status, body.status]).toEqual([200, "PENDING"]);
    const resentAt = Date.parse(body.expires_at) - 72 * HOUR;
    expect(resentAt).toBeGreaterThanOrEqual(sentAt);
    expect(resentAt).toBeLessThanOrEqual(Date.now() + ahead);
    const link = await nextLink("old@example.com", 1, server.environment);
    expect((await fetch(old.link)).status).toBe(404);
    expect((await fetch(link, { method: "POST" })).status).toBe(200);
    expect(await emails("EXPIRED")).toEqual([young.email]);
  });

  it("invitations accepted long ago are removed; others stay until they are deleted", async () => {
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    const { id } = tenant;
    ahead = 40 * DAY;
    const left = () =>
      asTenant<{ accepted: boolean }>(sql, id, "select member_id is not null as accepted from invitations");
    await expect.poll(left, { interval: 250 }).toEqual([{ accepted: false }]);
    expect(await emails("EXPIRED")).toEqual(["young@example.com"]);
  });

  it("a month counts the tokens that were created, read or used in it, each once", async () => {
    const report = async () => (await tenant.manage("GET", "/tenants/self/reports/usage")).body.token_report;
    const startOfMonth = (months: number) => {
      const now = new Date();
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1) - now.getTime();
    };
    ahead = startOfMonth(3) + DAY;
    const beganAt = Date.now() + ahead;
    const backEnd = await tenant.backEnd();
    const make = async (data: string, more: object = {}): Promise<string> =>
      (await backEnd("POST", "/tokens", { body: { type: "token", data, ...more } })).body.id;
    const [read, used, idle] = [await make("read"), await make("used"), await make("idle")];
    const shared = await make("twin", { deduplicate_token: true });
    for (let round = 0; round < 3; round += 1) await backEnd("GET", `/tokens/${read}`);
    const { last_created_at, ...metrics } = (await report()).metrics_by_type.token;
    expect(metrics).toEqual({ count: 4 });
    expect(Date.parse(last_created_at)).toBeGreaterThanOrEqual(beganAt);
    expect(Date.parse(last_created_at)).toBeLessThanOrEqual(Date.now() + ahead);
    expect(await report()).toMatchObject({ monthly_active_tokens: 4, included_monthly_active_tokens: 0 });

    ahead = startOfMonth(4) + DAY;
    expect(await report()).toMatchObject({ monthly_active_tokens: 0, metrics_by_type: { token: { count: 4 } } });
    await Promise.all(Array.from({ length: 10 }, () => backEnd("GET", `/tokens/${read}`)));
    await backEnd("POST", "/detokenize", { body: [`{{ ${used} }}`, `{{ ${used} }}`] });
    expect((await report()).monthly_active_tokens).toBe(2);
    const twin = { type: "token", data: "twin", deduplicate_token: true };
    expect((await backEnd("POST", "/tokens", { body: twin })).body.id).toBe(shared);
    expect((await report()).monthly_active_tokens).toBe(3);
    await backEnd("DELETE", `/tokens/${shared}`);
    await backEnd("DELETE", `/tokens/${idle}`);
    await make("new");
    expect(await report()).toMatchObject({ monthly_active_tokens: 4, metrics_by_type: { token: { count: 3 } } });
  });

  it("a plan is changed by command, for one tenant", async () => {
    const included = async (of: TestTenant) =>
      (await of.manage("GET", "/tenants/self/reports/usage")).body.token_report.included_monthly_active_tokens;
    const update = (id: string, tokens: string) =>
      cloakroom(
        server.environment,
        "tenants",
        "update",
        "--id",
        id,
        "--included-monthly-active-tokens",
        tokens,
        "--json",
      );
    const other = await newTenant(server.url, server.environment);
    const changed = await update(tenant.id, "250000");
    expect([changed.code, JSON.parse(changed.stdout)]).toEqual([
      0,
      { tenant_id: tenant.id, included_monthly_active_tokens: 250_000 },
    ]);
    expect([await included(tenant), await included(other)]).toEqual([250_000, 0]);
    for (const [id, tokens, complaint] of [
      [tenant.id, "1.5", "must be a whole number"],
      ["x", "1", "must be the UUID of a tenant"],
      ["01900000-0000-7000-8000-000000000000", "1", "There is no such tenant"],
    ] as const) {
      const { code, stderr } = await update(id, tokens);
      expect([code, stderr], complaint).toEqual([2, expect.stringContaining(complaint)]);
    }
    expect(await included(tenant)).toBe(250_000);
    expect((await update(tenant.id, "default")).code).toBe(0);
    expect(await included(tenant)).toBe(0);
  });
});
