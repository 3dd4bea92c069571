import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { DAY_MS, systemClock } from "../../../src/base/clock.js";
import { isTenantId, type TenantId } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/settings/config.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { asTenant } from "../../support/databases.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const COPIES = 100_100;
const TABLES = ["tokens", "token_terms", "token_counts"] as const;

describe("the total of a list of more than a hundred thousand tokens", () => {
  let tenant: TestTenant;
  let tenantId: TenantId;
  let backEnd: RestClient;
  let vault: Vault;
  let sql: Sql;
  beforeAll(async () => {
    tenant = await newTenant();
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    tenantId = tenant.id;
    backEnd = await tenant.backEnd();
    const config = readConfig(inject("serverEnvironment"));
    vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
    sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 20_000 });
    // Older than all tokens of the tests, and never opened by them: a sealed value does not open under another id.
    const { id } = await make("/many/one/");
    const columns = "type, data, attributes, containers, revision, active_month, created_by";
    await asTenant(
      sql,
      tenantId,
      `insert into tokens (tenant_id, id, created_at, ${columns})
         select tenant_id, id || '-' || n, created_at - n * interval '1 ms', ${columns}
         from tokens, generate_series(1, ${COPIES}) n where id = '${id}';
       insert into token_terms
         select tenant_id, term, created_at - n * interval '1 ms', token_id || '-' || n
         from token_terms, generate_series(1, ${COPIES}) n where token_id = '${id}';
       insert into token_counts values ('${tenantId}', 'token', 16, ${COPIES}, null)`,
    );
    // As autovacuum does within a minute: before, plans are those of an empty table.
    await sql`analyze tokens, token_terms, token_counts`;
  });
  afterAll(async () => {
    for (const table of TABLES) await asTenant(sql, tenantId, `delete from ${table}`);
    await sql?.end({ timeout: 5 });
    await vault?.[Symbol.asyncDispose]();
  });

  async function make(container: string, metadata: Record<string, string> = { many: "Yes" }) {
    const made = await backEnd("POST", "/tokens", {
      body: { type: "token", data: container, containers: [container], metadata },
    });
    expect(made.status).toBe(201);
    return made.body;
  }
  const total = async (client: RestClient, path: string): Promise<number> => {
    const listed = await client("GET", path);
    expect(listed.status, JSON.stringify(listed.body)).toBe(200);
    return listed.body.pagination.total_items;
  };

  it("is exact at once for the whole tenant", async () => {
    expect(await total(backEnd, "/tokens?size=1")).toBe(COPIES + 1);
    const { id } = await make("/few/");
    expect(await total(backEnd, "/tokens?size=1")).toBe(COPIES + 2);
    expect((await backEnd("DELETE", `/tokens/${id}`)).status).toBe(204);
    expect(await total(backEnd, "/tokens?size=1")).toBe(COPIES + 1);
  });

  it("is exact for a metadata pair, and may be half a minute old", async () => {
    expect(await total(backEnd, "/tokens?size=1&metadata.many=yes")).toBe(COPIES + 1);
    const { id } = await make("/many/two/");
    const listed = await backEnd("GET", "/tokens?size=1&metadata.many=yes");
    expect(listed.body.data[0].id).toBe(id);
    expect([COPIES + 1, COPIES + 2]).toContain(listed.body.pagination.total_items);
    expect((await backEnd("DELETE", `/tokens/${id}`)).status).toBe(204);
  });

  it("omits expired tokens that are not swept yet, however many there are", async () => {
    // They are not registered as due, so no sweep removes them.
    const batch = `id like '%00' and expires_at is null`;
    const [{ n = 0 } = {}] = await asTenant<{ n: number }>(
      sql,
      tenantId,
      `select count(*)::int as n from tokens where ${batch}`,
    );
    expect(n).toBeGreaterThan(1_000);
    await asTenant(sql, tenantId, `update tokens set expires_at = now() - interval '1 second' where ${batch}`);
    expect(await total(backEnd, "/tokens?size=1")).toBe(COPIES + 1 - n);
    expect(await total(await tenant.backEnd(), "/tokens?size=1&metadata.many=yes")).toBe(COPIES + 1 - n);
    const rare = { many: "yes", "not swept": "yes" };
    const made = await make("/many/four/", rare);
    const both = "/tokens?size=1&metadata.many=yes&metadata.not%20swept=yes";
    expect(await total(backEnd, both)).toBe(1);
    expect((await backEnd("DELETE", `/tokens/${made.id}`)).status).toBe(204);
    await asTenant(sql, tenantId, `update tokens set expires_at = null where expires_at <= now()`);
  });

  it("is exact at once for a pair that few of them have", async () => {
    const both = "/tokens?size=1&metadata.many=yes&metadata.rare=yes";
    expect(await total(backEnd, both)).toBe(0);
    const { id } = await make("/many/three/", { many: "yes", rare: "yes" });
    expect(await total(backEnd, both)).toBe(1);
    expect((await backEnd("DELETE", `/tokens/${id}`)).status).toBe(204);
    expect(await total(backEnd, both)).toBe(0);
  });

  it("counts what rules on several containers let a caller see, each token once", async () => {
    const made = [await make("/other/"), await make("/unseen/")];
    const rule = (priority: number, container: string) => ({
      ...{ priority, container, transform: "redact", permissions: ["token:read"] },
    });
    const clerk = await tenant.application({
      type: "private",
      rules: [rule(1, "/many/"), rule(2, "/many/one/"), rule(3, "/other/")],
    });
    expect(await total(clerk, "/tokens?size=1")).toBe(COPIES + 2);
    expect(await total(clerk, "/tokens?size=1&metadata.many=yes")).toBe(COPIES + 2);
    for (const { id } of made) expect((await backEnd("DELETE", `/tokens/${id}`)).status).toBe(204);
  });

  it("shows the few tokens that a session may see whose rules compare each of them, and so do pages", async () => {
    const made = await make("/seen/");
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { session_key, nonce } = (await page("POST", "/sessions")).body;
    const rules = ["/seen", "/none"].map((value, index) => ({
      ...{ priority: index + 1, transform: "redact", permissions: ["token:read"] },
      conditions: [{ attribute: "container", operator: "starts_with", value }],
    }));
    expect((await backEnd("POST", "/sessions/authorize", { body: { nonce, rules } })).status).toBe(200);
    const session = restClient(tenant.url, session_key);
    // Behind all others.
    const dayBefore = new Date(Date.parse(made.created_at) - DAY_MS).toISOString();
    await asTenant(sql, tenantId, `update tokens set created_at = '${dayBefore}' where id = '${made.id}'`);
    expect(await total(session, "/tokens?size=1")).toBe(1);
    for (const path of ["/tokens?size=5", "/v2/tokens?size=5"]) {
      const { body } = await session("GET", path);
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual([made.id]);
    }
    expect((await backEnd("DELETE", `/tokens/${made.id}`)).status).toBe(204);
  });
});
