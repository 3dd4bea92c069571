import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { GetTokenRequestSchema, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { newKey } from "../../../src/access/key-text.js";
import { isTenantId } from "../../../src/base/ids.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { newTenantKeys } from "../../support/tenant-keys.js";
import { type Destination, startDestination } from "../proxy/support/destination.js";

type Client = RestClient & { readonly key: string; readonly id: string };
type Row = Readonly<Record<string, unknown>>;

/** Never in a row: a value, a search term, a path, a query, a header, a user agent or a key. */
const MARKERS = ["5555555555554444", "marker-in-", "key_prod_"];
const TRACE = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

let tenant: TestTenant;
let backEnd: Client;
let destination: Destination;
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  destination = await startDestination();
  const body = {
    type: "card",
    id: "card-one",
    data: { number: MARKERS[0], expiration_month: 1, expiration_year: 2035 },
  };
  expect((await backEnd("POST", "/tokens", { body })).status).toBe(201);
});
afterAll(() => destination?.[Symbol.asyncDispose]());

const listed = async (of: TestTenant, query = ""): Promise<readonly Row[]> => {
  const { status, body } = await of.manage("GET", `/logs?size=100${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  const rows: readonly Row[] = body.data;
  for (const marker of MARKERS) expect(JSON.stringify(rows)).not.toContain(marker);
  return rows;
};
const since = () => `&start_date=${new Date(Date.now() - 60 * 60_000).toISOString()}`;

/** The rows that an action writes, oldest first. */
async function rowsOf(action: () => Promise<unknown>, of = tenant): Promise<readonly Row[]> {
  const before = new Set((await listed(of)).map(({ id }) => id));
  await action();
  return (await listed(of)).filter(({ id, entity_type }) => !before.has(id) && entity_type !== "log").toReversed();
}

describe("the log rows of a request", () => {
  it("say from where, by which key and client, in which trace and why a token was seen, and how it was shown", async () => {
    const headers = {
      ...{ "BT-TRACE-ID": TRACE, "X-Cloakroom-Reason": " Dispute 17 ", "User-Agent": "curl/8.5.0 marker-in-agent" },
      "X-Other": "marker-in-header",
    };
    const rows = await rowsOf(() => backEnd("GET", "/tokens/card-one", { headers }));
    expect(rows).toEqual([
      expect.objectContaining({
        ...{ actor_id: backEnd.id, actor_type: "application", entity_type: "card", entity_id: "card-one" },
        ...{ operation: "read", source_ip: "127.0.0.1", client: "curl", trace_id: TRACE, outcome: "allowed" },
        ...{ transform: "reveal", reason: "Dispute 17", key_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      }),
    ]);
    const keys = await tenant.manage("GET", `/applications/${backEnd.id}/keys`);
    expect(keys.body.data.map(({ id }: Row) => id)).toContain(rows[0]?.key_id);
    for (const absent of ["code", "destination_host", "via_type", "via_id"]) expect(rows[0]).not.toHaveProperty(absent);
  });

  it.each(RPC_PROTOCOLS)("say the same over %s", async (protocol) => {
    const headers = { "bt-trace-id": TRACE, "x-cloakroom-reason": "Dispute 18" };
    const client = rpcClient(TokenService, protocol, { key: backEnd.key, headers });
    const rows = await rowsOf(() => client.getToken(create(GetTokenRequestSchema, { id: "card-one" })));
    const shared = {
      trace_id: TRACE,
      source_ip: "127.0.0.1",
      transform: "reveal",
      reason: "Dispute 18",
      outcome: "allowed",
    };
    expect(rows).toEqual([expect.objectContaining(shared)]);
  });

  it.each(RPC_PROTOCOLS)("take a reason beyond ASCII in binary metadata over %s", async (protocol) => {
    const headers = { "x-cloakroom-reason-bin": Buffer.from("Grund: Prüfung").toString("base64").replaceAll("=", "") };
    const client = rpcClient(TokenService, protocol, { key: backEnd.key, headers });
    const rows = await rowsOf(() => client.getToken(create(GetTokenRequestSchema, { id: "card-one" })));
    expect(rows).toEqual([expect.objectContaining({ reason: "Grund: Prüfung" })]);
  });

  it("say how each token was shown: masked, redacted or in the clear", async () => {
    const masked = await tenant.application({ type: "private", permissions: ["token:read"] });
    const redacted = await tenant.application({
      ...{
        type: "private",
        rules: [{ priority: 1, container: "/", transform: "redact", permissions: ["token:read"] }],
      },
    });
    const rows = await rowsOf(async () => {
      await masked("GET", "/tokens/card-one");
      await redacted("GET", "/tokens/card-one");
      await backEnd("POST", "/detokenize", { body: "{{ card-one }}" });
      await backEnd("GET", "/tokens?id=card-one");
    });
    expect(rows.map(({ operation, transform }) => [operation, transform])).toEqual([
      ["read", "mask"],
      ["read", "redact"],
      ["read", "reveal"],
      ["list", undefined],
      ["read", "reveal"],
    ]);
  });

  it("name the proxy and the host that values go to", async () => {
    const made = await tenant.manage("POST", "/proxies", { body: { name: "P", destination_url: destination.url } });
    const send = (headers: Record<string, string>) =>
      backEnd("POST", "/proxy/marker-in-path?q=marker-in-query", {
        ...{ raw: "{{ card-one | json: '$.number' }} marker-in-body" },
        headers: { "Content-Type": "text/plain", "X-Cloakroom-Reason": "Charge", ...headers },
      });
    const rows = await rowsOf(async () => {
      expect((await send({ "BT-PROXY-KEY": made.body.key })).status).toBe(200);
      expect((await send({ "BT-PROXY-URL": destination.url })).status).toBe(200);
    });
    expect(destination.last().header("x-cloakroom-reason")).toBeUndefined();
    const host = new URL(destination.url).hostname;
    const shown = rows.map((row) => [row.operation, row.transform, row.destination_host, row.via_type, row.via_id]);
    expect(shown).toEqual([
      ["use", "reveal", host, "proxy", made.body.id],
      ["invoke", undefined, host, "proxy", made.body.id],
      ["use", "reveal", host, "proxy", undefined],
      ["invoke", undefined, host, "proxy", undefined],
    ]);
    expect(new Set(rows.map(({ reason }) => reason))).toEqual(new Set(["Charge"]));
  });

  it("name the reactor that a token goes to, and carry trace and address into what its code does, also later", async () => {
    const code = "module.exports = async ({ bt }) => ({ raw: await bt.tokens.retrieve('card-one') });";
    const application = { id: backEnd.id };
    const made = await tenant.manage("POST", "/reactors", { body: { name: "R", code, application } });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const body = { args: { card: "{{ card-one }}" } };
    const headers = { "BT-TRACE-ID": TRACE };
    const now = await rowsOf(async () => {
      const response = await backEnd("POST", `/reactors/${made.body.id}/react`, { body, headers });
      expect(response.status, JSON.stringify(response.body)).toBe(200);
    });
    const brief = (rows: readonly Row[]) =>
      rows.map((row) => [row.operation, row.entity_type, row.via_type, row.via_id, row.trace_id, row.source_ip]);
    const expected = [
      ["use", "card", "reactor", made.body.id, TRACE, "127.0.0.1"],
      ["invoke", "reactor", undefined, undefined, TRACE, "127.0.0.1"],
      ["read", "card", "reactor", made.body.id, TRACE, "127.0.0.1"],
    ];
    expect(brief(now)).toEqual(expected);
    const later = await rowsOf(async () => {
      await backEnd("POST", `/reactors/${made.body.id}/react-async`, { body, headers });
      const runs = `&entity_type=reactor&entity_id=${made.body.id}`;
      await vi.waitFor(
        async () =>
          expect((await listed(tenant, runs)).filter(({ operation }) => operation === "invoke")).toHaveLength(2),
        {
          interval: 100,
        },
      );
      const reads = "&entity_id=card-one&operation=read";
      await vi.waitFor(
        async () =>
          expect((await listed(tenant, reads)).filter(({ via_type }) => via_type === "reactor")).toHaveLength(2),
        { interval: 100 },
      );
    });
    expect(brief(later).slice(0, 2)).toEqual(expected.slice(0, 2));
  });

  it("have the code of a denial", async () => {
    const searcher = await tenant.application({ type: "private", permissions: ["token:search"] });
    const rows = await rowsOf(() => searcher("GET", "/tokens/card-one"));
    expect(rows).toEqual([
      expect.objectContaining({
        operation: "refuse",
        outcome: "denied",
        code: "permission_denied",
        actor_id: searcher.id,
      }),
    ]);
  });
});

describe("the log", () => {
  it("is filtered by every field", async () => {
    const [row] = await rowsOf(() => backEnd("GET", "/tokens/card-one", { headers: { "BT-TRACE-ID": "order-99" } }));
    for (const query of [
      `&actor_id=${backEnd.id}`,
      `&actor_id=${backEnd.id}&key_id=${row?.key_id}`,
      `&key_id=${row?.key_id}${since()}`,
      `&outcome=allowed${since()}`,
      `&operation=read${since()}`,
      `&transform=reveal${since()}`,
      `&trace_id=order-99${since()}`,
      `&trace_id=${row?.trace_id}${since()}`,
      `&source_ip=127.0.0.1${since()}`,
      `&source_ip=127.0.0.0/8${since()}`,
      "&entity_id=card-one&transform=reveal",
      `&client=${row?.client}${since()}`,
      `&has_reason=false${since()}`,
      `&has_reason=false&actor_id=${backEnd.id}${since()}`,
      `&actor_type=application${since()}`,
      `&id=${row?.id}${since()}`,
    ]) {
      const found = await listed(tenant, query);
      expect(
        found.map(({ id }) => id),
        query,
      ).toContain(row?.id);
    }
    for (const query of [
      `&actor_id=${tenant.id}`,
      "&outcome=denied&entity_id=card-one&operation=read",
      "&outcome=failed",
      `&operation=delete${since()}`,
      `&transform=redact&entity_id=nothing`,
      `&trace_id=order-98${since()}`,
      `&source_ip=10.0.0.0/8${since()}`,
      "&destination_host=elsewhere.example",
      `&client=browser${since()}`,
      `&code=permission_denied${since()}`,
      "&code=permission_denied&outcome=denied",
      `&via_id=${TRACE}${since()}`,
      `&has_reason=true${since()}`,
      `&actor_type=user${since()}`,
      `&via_type=proxy${since()}`,
      `&id=${TRACE}${since()}`,
    ]) {
      expect(
        (await listed(tenant, query)).map(({ id }) => id),
        query,
      ).not.toContain(row?.id);
    }
    const host = new URL(destination.url).hostname;
    const sent = await listed(tenant, `&destination_host=${host}`);
    expect(new Set(sent.map(({ destination_host }) => destination_host))).toEqual(new Set([host]));
  });

  it("is paged by cursor within a filter, and refuses the cursor of another", async () => {
    const page = await tenant.manage("GET", `/logs?size=2&actor_id=${backEnd.id}`);
    const next = page.body.pagination.next;
    const second = await tenant.manage("GET", `/logs?size=2&actor_id=${backEnd.id}&start=${next}`);
    expect(second.status).toBe(200);
    expect(second.body.data).toHaveLength(2);
    const other = await tenant.manage("GET", `/logs?size=2&outcome=denied&start=${next}`);
    expect([other.status, Object.keys(other.body.errors)]).toEqual([400, ["start"]]);
  });

  it.each([
    ["trace_id=order-1", "start_date"],
    ["source_ip=127.0.0.1", "start_date"],
    ["operation=read", "start_date"],
    ["transform=reveal", "start_date"],
    ["outcome=allowed", "start_date"],
    [`key_id=${TRACE}`, "start_date"],
    [`actor_id=${TRACE}&transform=reveal`, "start_date"],
    ["operation=read&start_date=2020-01-01", "start_date"],
    ["operation=read&start_date=2020-01-01&end_date=2020-02-02", "start_date"],
    ["client=curl", "start_date"],
    ["code=internal", "start_date"],
    [`via_id=${TRACE}`, "start_date"],
    ["has_reason=true", "start_date"],
    ["actor_type=user", "start_date"],
    ["via_type=proxy", "start_date"],
    [`id=${TRACE}`, "start_date"],
    ["actor_type=key", "actor_type"],
    ["actor_id=none", "actor_id"],
    ["via_id=none&start_date=2026-01-01", "via_id"],
    ["has_reason=maybe&start_date=2026-01-01", "has_reason"],
    ["outcome=maybe", "outcome"],
    ["transform=none", "transform"],
    ["source_ip=127.0.0.1/33&start_date=2026-01-01", "source_ip"],
    ["source_ip=localhost&start_date=2026-01-01", "source_ip"],
    ["trace_id=4111111111111111&start_date=2026-01-01", "trace_id"],
  ])("refuses the filter %s by naming %s", async (query, field) => {
    const { status, body } = await tenant.manage("GET", `/logs?${query}`);
    expect([status, Object.keys(body.errors)]).toEqual([400, [field]]);
  });
});

describe("a tenant that asks for a reason", () => {
  let asking: TestTenant;
  let reader: Client;
  const REASON = { "X-Cloakroom-Reason": "Dispute 17" };
  beforeAll(async () => {
    asking = await newTenant();
    reader = await asking.backEnd();
    const body = { type: "token", id: "one", data: "content-17", containers: ["/a/"] };
    expect((await reader("POST", "/tokens", { body })).status).toBe(201);
    const settings = { name: "Asking", settings: { require_reveal_reason: "true" } };
    const changed = await asking.manage("PUT", "/tenants/self", { body: settings });
    expect(changed.body.settings, JSON.stringify(changed.body)).toMatchObject({ require_reveal_reason: "true" });
  });

  it("gets it for switching the setting off, and refuses without", async () => {
    const own = await newTenant();
    const put = (value: string, headers: Record<string, string> = {}) => {
      const body = { name: "Own", settings: { require_reveal_reason: value } };
      return own.manage("PUT", "/tenants/self", { body, headers });
    };
    const settings = async () => (await own.manage("GET", "/tenants/self")).body.settings.require_reveal_reason;
    expect((await put("true")).status).toBe(200);
    const refused = await put("false");
    expect([refused.status, refused.body.code, await settings()]).toEqual([403, "reason_required", "true"]);
    expect((await put("true")).status).toBe(200);
    expect((await put("false", { "X-Cloakroom-Reason": "Migration of 5 December" })).status).toBe(200);
    expect(await settings()).toBe("false");
    expect((await put("false")).status).toBe(200);
    const rows = (await listed(own, "&entity_type=tenant")).filter(({ operation }) => operation !== "read");
    expect(rows.map(({ message, outcome, reason }) => [message, outcome, reason])).toEqual([
      ["Tenant updated", "allowed", undefined],
      ["Tenant updated: require_reveal_reason off", "allowed", "Migration of 5 December"],
      ["Tenant updated", "allowed", undefined],
      ["Tenant refused: require_reveal_reason off", "denied", undefined],
      ["Tenant updated: require_reveal_reason on", "allowed", undefined],
      ["Tenant created", "allowed", undefined],
    ]);
  });

  it.each<[string, string, string, unknown]>([
    ["a read", "GET", "/tokens/one", undefined],
    ["a list", "GET", "/tokens?id=one", undefined],
    ["a search", "POST", "/tokens/search", { query: 'type:"token"' }],
    ["a list by cursor", "GET", "/v2/tokens", undefined],
    ["a detokenization", "POST", "/detokenize", "{{ one }}"],
  ])("gets it for %s in the clear, and refuses without", async (_name, verb, path, body) => {
    const request = body === undefined ? {} : { body };
    const rows = await rowsOf(async () => {
      const refused = await reader(verb, path, request);
      expect([refused.status, refused.body.code]).toEqual([403, "reason_required"]);
      expect(JSON.stringify(refused.body)).not.toContain("content-17");
    }, asking);
    expect(rows).toEqual([
      expect.objectContaining({ operation: "refuse", outcome: "denied", code: "reason_required", entity_id: "one" }),
    ]);
    const allowed = await reader(verb, path, { ...request, headers: REASON });
    expect(allowed.status, JSON.stringify(allowed.body)).toBe(200);
    expect(JSON.stringify(allowed.body)).toContain("content-17");
  });

  it("asks for none where nothing is shown in the clear", async () => {
    const masked = await asking.application({ type: "private", permissions: ["token:read"] });
    expect((await masked("GET", "/tokens/one")).status).toBe(200);
    expect((await reader("POST", "/tokens", { body: { type: "token", data: "other" } })).status).toBe(201);
  });

  it("requires a reason for ephemeral proxies, not for configured ones", async () => {
    const made = await asking.manage("POST", "/proxies", { body: { name: "P", destination_url: destination.url } });
    const send = (headers: Record<string, string>) =>
      reader("POST", "/proxy", { raw: "{{ one }}", headers: { "Content-Type": "text/plain", ...headers } });
    expect((await send({ "BT-PROXY-KEY": made.body.key })).status).toBe(200);
    const refused = await send({ "BT-PROXY-URL": destination.url });
    expect([refused.status, refused.body.proxy_error.code]).toEqual([403, "reason_required"]);
    expect((await send({ "BT-PROXY-URL": destination.url, ...REASON })).status).toBe(200);
  });

  it.each(RPC_PROTOCOLS)("refuses over %s with the code in the error's details", async (protocol) => {
    const client = rpcClient(TokenService, protocol, { key: reader.key });
    const { code, reason } = await failureOf(client.getToken({ id: "one" }));
    expect([code, reason]).toEqual(["PermissionDenied", "reason_required"]);
  });

  it("may ask for it by a rule instead, for one container", async () => {
    const permissions = ["token:read", "token:create"];
    const rules = [
      { priority: 1, container: "/asks/", transform: "reveal", permissions, requires_reason: true },
      { priority: 2, container: "/", transform: "reveal", permissions },
    ];
    const ruled = await tenant.application({ type: "private", rules });
    for (const id of ["asks", "free"]) {
      const body = { type: "token", id: `rule-${id}`, data: "value", containers: [`/${id}/`] };
      expect((await ruled("POST", "/tokens", { body })).status).toBe(201);
    }
    expect((await ruled("GET", "/tokens/rule-free")).status).toBe(200);
    expect((await ruled("GET", "/tokens/rule-asks")).body.code).toBe("reason_required");
    expect((await ruled("GET", "/tokens/rule-asks", { headers: REASON })).status).toBe(200);
    const shown = await tenant.manage("GET", `/applications/${ruled.id}`);
    expect(shown.body.rules.map(({ requires_reason }: Row) => requires_reason)).toEqual([true, undefined]);
    const masking = { ...rules[0], transform: "mask" };
    const refused = await tenant.manage("POST", "/applications", {
      body: { name: "A", type: "private", rules: [masking] },
    });
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ["rules[0].requires_reason"]]);
  });

  it.each([
    ["too short", "~~"],
    ["a card number", "card 4111 1111 1111 1111"],
    ["bytes that are not UTF-8", "abc\u00ff"],
    ["a line separator", Buffer.from("one\u2028two").toString("latin1")],
  ])("refuses a reason that is %s, without its text, and logs that", async (_name, sent) => {
    const rows = await rowsOf(async () => {
      const refused = await reader("GET", "/tokens/one", { headers: { "X-Cloakroom-Reason": sent } });
      expect([refused.status, refused.body.code]).toEqual([400, "reason_invalid"]);
      expect(JSON.stringify(refused.body)).not.toContain(sent);
    }, asking);
    expect(rows).toEqual([expect.objectContaining({ outcome: "denied", code: "reason_invalid" })]);
    expect(rows[0]).not.toHaveProperty("reason");
  });

  it("lets pages of other origins send it", async () => {
    const headers = {
      ...{ Origin: "https://shop.example", "Access-Control-Request-Method": "GET" },
      "Access-Control-Request-Headers": "bt-api-key, x-cloakroom-reason",
    };
    const preflight = await fetch(`${asking.url}/tokens/one`, { method: "OPTIONS", headers });
    expect(preflight.headers.get("access-control-allow-headers")).toContain("x-cloakroom-reason");
  });
});

describe("a key that is not valid", () => {
  it("leaves a row in the log of the tenant that its text names, within the caps, and none of the key", async () => {
    const own = await newTenant();
    if (!isTenantId(own.id)) throw new Error("the tenant has no id");
    const { id: tenantId } = { id: own.id };
    const one = newKey("pvt", tenantId, newTenantKeys()).text.reveal();
    const ask = (key: string) => restClient(inject("serverUrl"), key)("GET", "/tokens/card-one");
    expect((await ask(one)).status).toBe(401);
    expect((await ask(one)).status).toBe(401);
    for (let n = 0; n < 15; n += 1)
      expect((await ask(newKey("pvt", tenantId, newTenantKeys()).text.reveal())).status).toBe(401);
    const refusals = await vi.waitFor(
      async () => {
        const rows = await listed(own, "&outcome=denied");
        expect(rows.length).toBeGreaterThanOrEqual(10);
        return rows;
      },
      { interval: 200 },
    );
    expect(refusals.length).toBeLessThanOrEqual(20);
    const ids = refusals.map(({ entity_id }) => entity_id);
    expect(ids.at(-1)).toBe(ids.at(-2));
    expect(new Set(ids).size).toBeGreaterThanOrEqual(9);
    expect(refusals.at(-1)).toMatchObject({
      ...{ entity_type: "application_key", operation: "refuse", code: "unauthenticated", source_ip: "127.0.0.1" },
      message: "Application Key refused: not valid",
    });
    expect(refusals.at(-1)).not.toHaveProperty("actor_id");
  });
  it("an invalid proxy key leaves a denied row", async () => {
    const own = await newTenant();
    if (!isTenantId(own.id)) throw new Error("the tenant has no id");
    const key = newKey("prx", own.id, newTenantKeys()).text.reveal();
    const headers = { "BT-API-KEY": (await own.backEnd()).key, "BT-PROXY-KEY": key };
    expect((await fetch(`${inject("serverUrl")}/proxy`, { headers })).status).toBe(404);
    const refusals = await vi.waitFor(
      async () => {
        const rows = await listed(own, "&outcome=denied");
        expect(rows).toHaveLength(1);
        return rows;
      },
      { interval: 200 },
    );
    expect(refusals[0]).toMatchObject({
      ...{ entity_type: "proxy", operation: "refuse", code: "unauthenticated", source_ip: "127.0.0.1" },
      ...{ message: "Proxy refused: not valid", entity_id: expect.stringMatching(/^[0-9a-f]{16}$/) },
    });
  });
});
