import { beforeAll, describe, expect, it } from "vitest";
import type { RestResponse } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const UUID = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";
const MERGE = { "Content-Type": "application/merge-patch+json" };

let tenant: TestTenant;
let backEnd: Awaited<ReturnType<TestTenant["backEnd"]>>;
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
});

const faults = ({ status, body }: RestResponse) => [status, Object.keys(body.errors ?? {})];

describe("a list", () => {
  const LISTS = [
    ...["/tokens", "/v2/tokens", "/applications", `/applications/${UUID}/keys`, "/permissions", "/logs"],
    ...["/logs/entity-types", "/proxies", "/reactors", "/reactor-formulas", "/tenants/self/members", "/roles"],
    ...["/tenants/self/invitations", "/orchestration/connections"],
  ];

  it.each(LISTS)("rejects an unknown filter: %s", async (path) => {
    const client = /tokens/.test(path) ? backEnd : tenant.manage;
    const response = await client("GET", `${path}?sice=7&page_=2&__proto__=x`);
    expect(faults(response)).toEqual([400, ["sice", "page_", "__proto__"]]);
    expect(response.body.errors.sice[0]).toMatch(
      /^is not a parameter here: (known are \w|this path takes no parameters)/,
    );
  });

  it.each([
    ["/logs?token=abc", ["token"]],
    ["/applications?start=abc", ["start"]],
    ["/tokens?size=101&container=/pci/", ["container", "size"]],
    ["/v2/tokens?metadata.a=1&page=2", ["page"]],
    ["/tokens?metadata=%7B%7D&metadata.a=1&metadata[b]=2&meta.a=1", ["meta.a"]],
  ])("reports what is wrong with %s", async (path, fields) => {
    const client = /tokens/.test(path) ? backEnd : tenant.manage;
    expect(faults(await client("GET", path))).toEqual([400, fields]);
  });
});

describe("a delete", () => {
  it("rejects parameters, and deletes nothing", async () => {
    const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: 1 } });
    expect(faults(await backEnd("DELETE", `/tokens/${body.id}?dry_run=true`))).toEqual([400, ["dry_run"]]);
    expect((await backEnd("GET", `/tokens/${body.id}?anything=1`)).status).toBe(200);
    expect((await backEnd("DELETE", `/tokens/${body.id}`)).status).toBe(204);
  });
});

describe("a request", () => {
  it.each<[string, string, object, string[]]>([
    ["POST", "/tokens", { type: "token", data: 1, privacy: { restriction_policy: "redact" } }, ["privacy"]],
    ["POST", "/tokens", { type: "token", data: 1, encrypted: "abc" }, ["encrypted"]],
    ["POST", "/tokens", { type: "token", data: 1, encryption: { cek: { key: "a" } } }, ["encryption"]],
    ["POST", "/tokens", { type: "token", data: 1, token_intent_id: UUID }, ["token_intent_id"]],
    ["POST", "/tokens", { type: "token", data: 1, contianers: ["/pci/"] }, ["contianers"]],
    ["POST", "/tokens", { type: "token", data: 1, expiresAt: "2030-01-01" }, ["expiresAt"]],
    ["POST", "/tokenize", { a: { type: "token", data: 1, privacy: { impact_level: "low" } } }, ["a.privacy"]],
    ["POST", "/tokenize", [{ type: "token", data: 1, container: "/pci/" }], ["[0].container"]],
    [
      "POST",
      "/applications",
      { name: "A", type: "private", permissions: ["token:read"], expires_at: "2030-01-01" },
      ["expires_at"],
    ],
    [
      "POST",
      "/applications",
      {
        name: "A",
        type: "private",
        rules: [{ priority: 1, container: "/", tranform: "mask", permissions: ["token:read"] }],
      },
      ["rules[0].tranform"],
    ],
    [
      "POST",
      "/proxies",
      { name: "P", destination_url: "https://example.com", client_certificate: "x" },
      ["client_certificate"],
    ],
    ["POST", "/proxies", { name: "P", destination_url: "https://example.com", encrypted: "x" }, ["encrypted"]],
    [
      "POST",
      "/proxies",
      { name: "P", destination_url: "https://example.com", proxy_host: "p.example.com" },
      ["proxy_host"],
    ],
    ["POST", "/proxies", { name: "P", destination_url: "https://example.com", timeout: 5 }, ["timeout"]],
    [
      "POST",
      "/proxies",
      { name: "P", destination_url: "https://example.com", runtime: { image: "node22" } },
      ["runtime"],
    ],
    [
      "POST",
      "/proxies",
      { name: "P", destination_url: "https://example.com", response_transfrom: {} },
      ["response_transfrom"],
    ],
    [
      "POST",
      "/proxies",
      { name: "P", destination_url: "https://example.com", disableDetokenization: true },
      ["disableDetokenization"],
    ],
    ["POST", "/3ds/sessions", { token_id: UUID, callback_urls: { success: "https://example.com" } }, ["callback_urls"]],
    ["POST", `/reactors/${UUID}/react-async`, { args: {}, callback_url: "https://example.com" }, ["callback_url"]],
    ["POST", "/sessions/authorize", { nonce: "x", permission: ["token:read"] }, ["permission"]],
  ])("for something it would not get is rejected: %s %s %j", async (verb, path, body, fields) => {
    const permissions = ["3ds:session:create"];
    const payer = () => tenant.application({ type: "private", permissions });
    const client = /applications|proxies/.test(path)
      ? tenant.manage
      : path.startsWith("/3ds")
        ? await payer()
        : backEnd;
    expect(faults(await client(verb, path, { body }))).toEqual([400, fields]);
  });

  it("is rejected in a patch too, and changes nothing", async () => {
    const { body: token } = await backEnd("POST", "/tokens", {
      body: { type: "token", data: 1, metadata: { a: "b" } },
    });
    const patch = { metadata: { a: "c" }, privacy: { restriction_policy: "redact" } };
    expect(faults(await backEnd("PATCH", `/tokens/${token.id}`, { body: patch, headers: MERGE }))).toEqual([
      400,
      ["privacy"],
    ]);
    expect((await backEnd("GET", `/tokens/${token.id}`)).body.metadata).toEqual({ a: "b" });
  });

  it("with fields of newer clients is served", async () => {
    const body = { type: "token", data: 1, colour: "red", privacy: null, encrypted: "", some_new_field: { a: [1] } };
    expect((await backEnd("POST", "/tokens", { body })).status).toBe(201);
    expect((await backEnd("POST", "/tokenize", { body: [body] })).status).toBe(200);
    expect((await backEnd("POST", "/tokens?colour=red", { body })).status).toBe(201);
  });

  it("may be a response that was read and is sent back", async () => {
    const { body: proxy } = await tenant.manage("POST", "/proxies", {
      body: { name: "P", destination_url: "https://example.com" },
    });
    expect((await tenant.manage("PUT", `/proxies/${proxy.id}`, { body: proxy })).status).toBe(200);
    const { body: application } = await tenant.manage("GET", `/applications/${backEnd.id}`);
    expect((await tenant.manage("PUT", `/applications/${backEnd.id}`, { body: application })).status).toBe(200);
    const { body: self } = await tenant.manage("GET", "/tenants/self");
    expect((await tenant.manage("PUT", "/tenants/self", { body: self })).status).toBe(200);
  });
});
