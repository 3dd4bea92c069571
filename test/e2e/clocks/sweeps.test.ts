import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTenantId } from "../../../src/base/ids.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { asTenant } from "../../support/databases.js";
import type { RestClient } from "../../support/rest.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };

describe("expired data", () => {
  let ahead = 0;
  let server: ServerHere;
  let sql: Sql;
  let tenant: TestTenant;
  let backEnd: RestClient;
  beforeAll(async () => {
    server = await startServerHere({ LOG_LEVEL: "error" }, { clock: { now: () => Date.now() + ahead } });
    sql = connect(server.vault.ownerAddress, { connections: 2, statementTimeout: 20_000 });
    tenant = await newTenant(server.url, server.environment);
    backEnd = await tenant.backEnd();
  });
  afterAll(async () => {
    await sql?.end({ timeout: 5 });
    await server?.[Symbol.asyncDispose]();
  });
  const soon = (milliseconds: number) => new Date(Date.now() + ahead + milliseconds).toISOString();
  const rows = async (table: string, where = "true"): Promise<number> => {
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    const query = `select count(*)::int as n from ${table} where ${where}`;
    const [row] = await asTenant<{ n: number }>(sql, tenant.id, query);
    return row?.n ?? Number.NaN;
  };
  const create = async (body: object): Promise<string> => (await backEnd("POST", "/tokens", { body })).body.id;
  const read = (id: string) => backEnd("GET", `/tokens/${id}`);
  const usage = async () =>
    (await tenant.manage("GET", "/tenants/self/reports/usage")).body.token_report.metrics_by_type;

  it("is unreachable at once, and deleted by the next sweep, with its row in the log", async () => {
    const kept = await create({ type: "token", data: "kept" });
    const expiring = { type: "token", data: "short", expires_at: soon(10 * MINUTE) };
    const found = { metadata: { short: "1" }, search_indexes: ["{{ data }}"], deduplicate_token: true };
    const short = await create({ ...expiring, ...found });
    // It stays while its search terms cannot be computed, and delays no other.
    const tampered = await create({ type: "token", data: "tampered", expires_at: soon(9 * MINUTE) });
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    await asTenant(sql, tenant.id, `update tokens set data = '\\x00' where id = '${tampered}'`);
    const card = await create({ type: "card", data: { ...CARD, cvc: "123" } });
    const patched = await create({ type: "card", data: { ...CARD, cvc: "456" } });
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const session = (await page("POST", "/sessions")).body;
    const idempotent = { headers: { "BT-IDEMPOTENCY-KEY": "once" }, body: { type: "token", data: "stored" } };
    const stored = await backEnd("POST", "/tokens", idempotent);

    ahead = 4 * MINUTE;
    expect(await page("GET", `/tokens/${kept}`, { key: session.session_key })).toMatchObject({ status: 401 });
    expect((await read(short)).status).toBe(200);
    const scanned = { body: { query: "metadata.short:1 AND NOT type:card" } };
    expect((await backEnd("POST", "/tokens/search", scanned)).body.data).toMatchObject([{ id: short }]);

    ahead = 10 * MINUTE + 1_000;
    const listed = await backEnd("GET", "/tokens?metadata.short=1");
    expect(listed.body).toMatchObject({ pagination: { total_items: 0 }, data: [] });
    expect((await backEnd("POST", "/tokens/search", { body: { query: "data:short" } })).body.data).toEqual([]);
    expect((await backEnd("POST", "/tokens/search", scanned)).body.data).toEqual([]);
    expect((await backEnd("GET", "/v2/tokens?metadata.short=1")).body.data).toEqual([]);
    expect((await read(short)).status).toBe(404);
    expect(await backEnd("PATCH", `/tokens/${short}`, { headers: MERGE_PATCH, body: {} })).toMatchObject({
      status: 404,
    });
    expect(await backEnd("DELETE", `/tokens/${short}`)).toMatchObject({ status: 404 });
    expect(await usage()).toMatchObject({ token: { count: 2 }, card: { count: 2 } });
    expect((await backEnd("GET", "/tokens?size=1")).body.pagination.total_items).toBe(4);

    // A patch without a code does not extend the old one's time; one with a code starts a new hour.
    ahead = HOUR - MINUTE;
    const month = { data: { expiration_month: 11 } };
    await backEnd("PATCH", `/tokens/${card}`, { headers: MERGE_PATCH, body: month });
    await backEnd("PATCH", `/tokens/${patched}`, { headers: MERGE_PATCH, body: { data: { cvc: "789" } } });
    expect((await read(card)).body.data).toEqual({ ...CARD, expiration_month: 11, cvc: "123" });
    ahead = HOUR + 1_000;
    expect((await read(card)).body.data).toEqual({ ...CARD, expiration_month: 11 });
    expect((await backEnd("POST", "/detokenize", { body: `{{ ${card} }}` })).body).not.toHaveProperty("cvc");
    expect((await read(patched)).body.data).toEqual({ ...CARD, cvc: "789" });

    // Every sweep of past minutes leaves nothing of them.
    ahead = HOUR + 2 * MINUTE;
    const gone = { token: `id = '${short}'`, cvc: `token_id = '${card}'` };
    await expect
      .poll(async () => [await rows("tokens", gone.token), await rows("token_cvc", gone.cvc), await rows("sessions")], {
        interval: 250,
      })
      .toEqual([0, 0, 0]);
    expect(await rows("token_terms", gone.cvc.replace(card, short))).toBe(0);
    expect(await rows("tokens", `id = '${tampered}'`)).toBe(1);
    expect((await read(tampered)).status).toBe(404);
    const { body: log } = await tenant.manage("GET", `/logs?entity_id=${short}`);
    expect(log.data[0]).toMatchObject({ operation: "expire", entity_type: "token" });
    expect(log.data[0]).not.toHaveProperty("actor_id");
    expect(await usage()).toMatchObject({ token: { count: 2 }, card: { count: 2 } });
    expect((await backEnd("GET", "/tokens?size=1")).body.pagination.total_items).toBe(4);
    expect((await read(patched)).body.data).toEqual({ ...CARD, cvc: "789" });
    expect((await read(stored.body.id)).status).toBe(200);
    expect((await backEnd("POST", "/tokens", idempotent)).body.id).toBe(stored.body.id);
  });

  it("leaves the id of a token free before the next sweep", async () => {
    const body = { type: "token", id: "short-lived", data: "x" };
    const expires_at = soon(MINUTE);
    expect(await backEnd("POST", "/tokens", { body: { ...body, expires_at } })).toMatchObject({ status: 201 });
    expect(await read("short-lived")).toMatchObject({ status: 200, body: { expires_at } });
    ahead += MINUTE;
    expect(await read("short-lived")).toMatchObject({ status: 404 });
    expect(await backEnd("POST", "/detokenize", { body: "{{ short-lived }}" })).toMatchObject({ status: 400 });
    // A server whose clock is ahead keeps it until the database's clock agrees.
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    await asTenant(sql, tenant.id, "update tokens set expires_at = now() where id = 'short-lived'");
    expect(await backEnd("POST", "/tokens", { body })).toMatchObject({ status: 201, body: { id: "short-lived" } });
  });

  it("is not needed to replay a request that could not be executed any more", async () => {
    const clerk = await tenant.application({ type: "private", permissions: ["token:create", "token:update"] });
    const body = { type: "token", data: "x", mask: "{{ data }}", expires_at: soon(MINUTE) };
    const send = (path: string, key: string, value: object) =>
      clerk("POST", path, { headers: { "BT-IDEMPOTENCY-KEY": key }, body: value });
    const create = () => send("/tokens", "one", body);
    const tokenize = () => send("/tokenize", "several", { deep: body });
    const first = [await create(), await tokenize()];
    expect(first.map(({ status }) => status)).toEqual([201, 200]);
    ahead += MINUTE;
    const again = [await create(), await tokenize()];
    // The token has expired: nothing of its value is left.
    const { id, tenant_id, type, containers, created_by, created_at, _extras } = first[0]?.body ?? {};
    expect(again[0]).toMatchObject({ status: 201 });
    expect(again[0]?.body).toEqual({ id, tenant_id, type, containers, created_by, created_at, _extras });
    expect(again[1]?.body.deep.id).toBe(first[1]?.body.deep.id);
    expect(again[1]?.body.deep).not.toHaveProperty("data");
    const late = await send("/tokens", "late", body);
    expect(late).toMatchObject({ status: 400, body: { errors: { expires_at: [expect.any(String)] } } });
  });

  it("ends a session with its key, when its authorizer says", async () => {
    const token = await create({ type: "token", data: "x", mask: "***" });
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { session_key: key, nonce } = (await page("POST", "/sessions")).body;
    const authorize = (more: object) =>
      backEnd("POST", "/sessions/authorize", { body: { nonce, permissions: ["token:read"], ...more } });
    const shown = async () => (await page("GET", `/tokens/${token}`, { key })).status;
    expect(await authorize({ expires_at: soon(MINUTE) })).toMatchObject({ status: 200 });
    expect(await shown()).toBe(200);
    ahead += MINUTE;
    expect(await shown()).toBe(401);
    expect(await authorize({})).toMatchObject({ status: 404 });
  });

  it("includes failed runs after a day", async () => {
    const code = "module.exports = async () => { throw new Error('failed'); };";
    const { body: reactor } = await tenant.manage("POST", "/reactors", { body: { name: "R", code } });
    const author = await tenant.application({ type: "management", permissions: ["reactor:update"] });
    const shown = async () => (await author("GET", `/reactors/${reactor.id}/failed-runs`)).body.data.length;
    const failedAt = ahead;
    expect((await backEnd("POST", `/reactors/${reactor.id}/react`, { body: {} })).status).toBe(500);
    expect(await shown()).toBe(1);
    ahead = failedAt + 24 * HOUR - MINUTE;
    expect(await shown()).toBe(1);
    ahead = failedAt + 24 * HOUR + MINUTE;
    expect(await shown()).toBe(0);
    ahead += 2 * MINUTE;
    await expect.poll(() => rows("failed_runs"), { interval: 250 }).toBe(0);
  });
});
