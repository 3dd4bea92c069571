import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { operations, parameterValidator, requestValidator } from "../../support/api-description.js";
import { bodyLike } from "../../support/generated-bodies.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
let backEnd: Awaited<ReturnType<TestTenant["backEnd"]>>;
let allRights: Awaited<ReturnType<TestTenant["backEnd"]>>;
const ids: Record<string, string> = {};
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  const listed = await tenant.manage("GET", "/permissions?application_type=private");
  const permissions = listed.body.map(({ type }: { readonly type: string }) => type);
  allRights = await tenant.application({ type: "private", permissions });
  const make = async (path: string, body: object) => (await tenant.manage("POST", path, { body })).body.id;
  ids["/proxies/{id}"] = await make("/proxies", { name: "P", destination_url: "https://example.com" });
  ids["/reactors/{id}"] = await make("/reactors", { name: "R", code: CODE });
  ids["/reactors/{id}/react"] = ids["/reactors/{id}"] ?? "";
  ids["/tokens/{id}"] = (await backEnd("POST", "/tokens", { body: { type: "token", data: 1 } })).body.id;
});

/** The generated bodies of an operation: 60 of each found nothing more, in half a minute. */
const BODIES_EACH = 15;
const CODE = "module.exports = async () => ({ raw: 1 })";
const MERGE = "application/merge-patch+json";
const application = { name: "A", type: "private" };
const rule = { priority: 1, transform: "mask", permissions: ["token:read"] };
const proxy = { name: "P", destination_url: "https://example.com" };
const reactor = { name: "R", code: CODE };
const formula = { name: "F", type: "private", code: CODE };
const token = { type: "token", data: 1 };

/** A request, and what makes it wrong. */
const BODIES: readonly (readonly [string, string, object, object])[] = [
  [
    ...(["POST", "/applications"] as const),
    { ...application, rules: [{ ...rule, container: "/" }] },
    { rules: [{ ...rule, container: "pci" }] },
  ],
  ["POST", "/reactors", { ...reactor, runtime: { image: "node-bt" } }, { runtime: { image: "node22" } }],
  ["POST", "/reactors", { ...reactor, runtime: { timeout: 30 } }, { runtime: { timeout: 31 } }],
  ["POST", "/reactors", { ...reactor, runtime: { warm_concurrency: 1 } }, { runtime: { warm_concurrency: 2 } }],
  ["POST", "/reactors", { ...reactor, runtime: { async: false } }, { runtime: { async: true } }],
  ["POST", "/reactors", { ...reactor, runtime: { resources: "standard" } }, { runtime: { resources: "large" } }],
  ["POST", "/reactors", { ...reactor, runtime: { permissions: [] } }, { runtime: { permissions: ["token:read"] } }],
  ["POST", "/reactors", { ...reactor, runtime: { dependencies: {} } }, { runtime: { dependencies: { a: "1" } } }],
  ["POST", "/reactors", { ...reactor, runtime: { resolutions: {} } }, { runtime: { resolutions: { a: "1" } } }],
  ["POST", "/reactor-formulas", { ...formula, icon: "data:image/png;base64, iVBORw==" }, { icon: "icon.png" }],
  ["POST", "/proxies", proxy, { destination_url: "example.com" }],
  ["POST", "/proxies", { ...proxy, request_transform: {} }, { request_transform: { type: "code" } }],
  ["POST", "/proxies", { ...proxy, response_transforms: [{ code: CODE }] }, { response_transforms: [{ options: {} }] }],
  [
    "PUT",
    "/tenants/self",
    { name: "T", settings: { fingerprint_tokens: "true" } },
    { settings: { fingerprint: "true" } },
  ],
  [
    "PUT",
    "/tenants/self",
    { name: "T", settings: { deduplicate_tokens: "false" } },
    { settings: { deduplicate_tokens: "no" } },
  ],
  [
    ...(["PUT", "/tenants/self"] as const),
    { name: "T", settings: { token_deduplication_behavior: "read_existing" } },
    { settings: { token_deduplication_behavior: "update_existing" } },
  ],
  ["PUT", "/proxies/{id}", { ...proxy, destination_url: "HTTPS://example.com" }, { destination_url: "https://" }],
  ["PATCH", "/proxies/{id}", { name: "Q" }, { name: null }],
  ["PATCH", "/proxies/{id}", { destination_url: "https://example.com/a" }, { destination_url: null }],
  ["PATCH", "/proxies/{id}", { configuration: { A: "1", B: null } }, { configuration: { A: 1 } }],
  ["PATCH", "/reactors/{id}", { name: "Q" }, { name: null }],
  ["PATCH", "/reactors/{id}", { configuration: null }, { configuration: ["A"] }],
  ["POST", "/reactors/{id}/react", { callback_url: "https://example.com/" }, { callback_url: "http://example.com" }],
  ["POST", "/tokens", token, { data: null }],
  ["POST", "/tokens", token, { type: "Token" }],
  ["POST", "/tokens", { ...token, containers: ["/A-b_1/"] }, { containers: ["/a"] }],
  ["PATCH", "/tokens/{id}", { containers: ["/a/"] }, { containers: [] }],
  ["PATCH", "/tokens/{id}", { containers: ["/b/"] }, { containers: null }],
  ["PATCH", "/tokens/{id}", { metadata: { a: "1", b: null } }, { metadata: { a: 1 } }],
  ["POST", "/tenants/self/invitations", { email: "one@example.com" }, { email: "one" }],
  ["POST", "/tenants/self/invitations", { email: "two@example.com", role: "AUDITOR" }, { role: "OWNER" }],
  ["POST", "/applications", { ...application, permissions: ["token:read"] }, { permissions: null }],
  ["POST", "/applications", { ...application, permissions: ["token:read"] }, { permissions: ["token:see"] }],
  ["POST", "/reactors", { ...reactor, formula: null }, { code: null }],
  ["POST", "/tokens", { ...token, expires_at: "8/26/2099 7:23:57 PM -07:00" }, { expires_at: "tomorrow" }],
  [
    ...(["POST", "/proxies"] as const),
    { ...proxy, response_transforms: [{ type: "mask", matcher: "chase_stratus_pan", replacement: "*" }] },
    { response_transforms: [{ type: "mask", matcher: "chase_stratus_pan" }] },
  ],
];

describe("a body that the document's further rules refuse", () => {
  it.each(BODIES)(
    "is refused by %s %s, and what they take is taken: %j, not %j",
    async (method, path, right, wrong) => {
      const placed = operations.find((each) => each.verb === method && each.path === path);
      if (!placed) throw new Error(`no operation ${method} ${path}`);
      const type = method === "PATCH" ? MERGE : "application/json";
      const matches = requestValidator(placed, type);
      expect([matches(right), matches({ ...right, ...wrong })]).toEqual([true, false]);

      const client = path.startsWith("/tokens") || path.endsWith("/react") ? backEnd : tenant.manage;
      const send = (body: object) =>
        client(method, path.replace("{id}", ids[path] ?? ""), { body, headers: { "Content-Type": type } });
      const refused = await send({ ...right, ...wrong });
      expect([refused.status, refused.body.code]).toEqual([400, "validation_failed"]);
      const taken = await send(right);
      expect(taken.status, JSON.stringify(taken.body)).toBeLessThan(300);
    },
  );
});

describe("a query that the document's further rules refuse", () => {
  it.each([
    ["/logs", "start_date", "2026-02-03", "2026-13-03"],
    ["/logs", "end_date", "2026-02-03T04:05:06.789+01:00", "0000-01-01"],
    ["/v2/tokens", "container", "/pci/", "pci"],
    ["/v2/tokens", "type", "card", "cards"],
  ])("is refused by %s: %s", async (path, name, right, wrong) => {
    const placed = operations.find((each) => each.verb === "GET" && each.path === path);
    if (!placed) throw new Error(`no operation GET ${path}`);
    const matches = parameterValidator(placed, name);
    expect([matches(right), matches(wrong)]).toEqual([true, false]);

    const client = path === "/logs" ? tenant.manage : backEnd;
    const statusOf = async (value: string) =>
      (await client("GET", `${path}?${new URLSearchParams({ [name]: value })}`)).status;
    expect([await statusOf(right), await statusOf(wrong)]).toEqual([200, 400]);
  });
});

it("a type that does not exist is refused by GET /tokens, as the document says", async () => {
  const placed = operations.find((each) => each.verb === "GET" && each.path === "/tokens");
  if (!placed) throw new Error("no operation GET /tokens");
  const matches = parameterValidator(placed, "type");
  expect([matches(["card", "token"]), matches(["card", "cards"])]).toEqual([true, false]);
  expect((await backEnd("GET", "/tokens?type=card&type=token")).status).toBe(200);
  expect((await backEnd("GET", "/tokens?type=card&type=cards")).status).toBe(400);
});

/** What a schema cannot say, by operation and field: the document's texts say it. */
const BEYOND_SCHEMAS: readonly (readonly [operations: RegExp, field: RegExp])[] = [
  // A body like this is valid with another id or address.
  [/^createInvitation$/, /^email$/],
  [/Connection$/, /^connection_formula_id$/],
  [/Reactor$/, /^formula\.id$/],
  [/Proxy$|Reactor$/, /^application\.id$/],
  [/^createThreeDSSession$/, /^token_id$/],
  [/^createTransaction$/, /^(connection_id|three_d_session_id)$/],
  // A type of application has its own permissions, and those of tokens belong to rules of private applications.
  [/Application$|^authorizeSession$/, /^(permissions|rules)/],
  [/Application$/, /^(allowed_origins|templates|allow_page_requests)/],
  // Languages of their own: expressions, searches, cursors, regular expressions, options by type.
  [/^createToken$/, /^(data|mask|id|search_indexes|fingerprint_expression|template)/],
  [/^searchTokens/, /^(query|start)$/],
  [/^exportTokenPage$/, /^(query|start)$/],
  // 1, 101, 201 and so on.
  [/^importTokens$/, /^position$/],
  [/Proxy$/, /^(request|response)_transforms?(\[\d+\])?\.(type|expression|options)/],
  [/^createTransaction$/, /^merchant_initiated$/],
  // A time in the future.
  [/^createApplicationKey$/, /^expires_at$/],
  // Rules of their own: public https addresses, mail addresses, types of events that GET /webhooks/event-types lists.
  [/Webhook$/, /^(url|notify_email|events(\[\d+\])?)$/],
];

describe("a body that its schema allows", () => {
  const withBody = operations.flatMap((placed) => {
    const content = placed.operation.requestBody?.content ?? {};
    const id = placed.operation.operationId;
    const [[type = "", described] = []] = Object.entries(content);
    return described && !/^proxy|okenize$/.test(id) ? [{ id, type, placed, schema: described.schema }] : [];
  });

  it.each(withBody)("is not refused by $id", async ({ id, type, placed, schema }) => {
    const matches = requestValidator(placed, type);
    const bodies = fc.sample(bodyLike(schema), { seed: 32, numRuns: 60 }).filter((body) => matches(body));
    expect(bodies.length).toBeGreaterThan(0);
    const beyond = BEYOND_SCHEMAS.filter(([these]) => these.test(id)).map(([, field]) => field);
    // No entity has this id: the server judges bodies before it looks for it.
    const path = placed.path.replace(/\{\w+\}/g, "01980f70-1a2b-7c4d-9e5f-60718293a4b5");
    const client = /^\/(tokens|v2|sessions|3ds|connections)|react(-async)?$/.test(placed.path)
      ? allRights
      : tenant.manage;
    for (const body of bodies.slice(0, BODIES_EACH)) {
      const { status, body: answer } = await client(placed.verb, path, { body, headers: { "Content-Type": type } });
      const fields = status === 400 ? Object.keys(answer.errors ?? { body: [] }) : [];
      const unforeseen = fields.filter((field) => !beyond.some((allowed) => allowed.test(field)));
      expect(unforeseen, JSON.stringify({ body, errors: answer.errors ?? answer.detail })).toEqual([]);
    }
  });
});
