import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type RestClient, restClient } from "../../support/rest.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";

const SHOP = "https://shop.example.com";
const OTHER = "https://other.example.com";

const listOf = (text: string | null) => (text ?? "").split(",").map((item) => item.trim().toLowerCase());
const preflight = (client: RestClient, path: string, origin: string, method: string, headers?: string) =>
  client("OPTIONS", path, {
    headers: {
      Origin: origin,
      "Access-Control-Request-Method": method,
      ...(headers === undefined ? {} : { "Access-Control-Request-Headers": headers }),
    },
  });

describe("a page of another origin", () => {
  let client: RestClient;
  let key: string;
  beforeAll(async () => {
    client = restClient(inject("serverUrl"));
    const tenant = await newTenant();
    key = (await tenant.application({ type: "public", permissions: ["token:create"] })).key;
  });

  it.each([
    ["POST", "/tokens", "bt-api-key,content-type,bt-trace-id,bt-idempotency-key,bt-client-user-agent"],
    ["PATCH", "/tokens/abc", "bt-api-key,content-type"],
    ["DELETE", "/tokens/abc", "bt-api-key,x-fern-language,x-fern-sdk-name,x-fern-sdk-version"],
    ["PUT", "/tenants/self", "bt-api-key, content-type"],
    [
      "POST",
      "/cloakroom.v1.TokenService/CreateToken",
      "bt-api-key,connect-protocol-version,connect-timeout-ms,content-type",
    ],
    ["POST", "/cloakroom.v1.TokenService/CreateToken", "bt-api-key,grpc-timeout,x-grpc-web,x-user-agent,content-type"],
    ["POST", "/proxy", "bt-proxy-key,bt-proxy-url,authorization,x-anything_else"],
    ["GET", "/nope", "bt-api-key"],
  ])("is allowed by a preflight to send a %s of %s, with the requested headers", async (method, path, headers) => {
    const { status, body, headers: responseHeaders } = await preflight(client, path, SHOP, method, headers);
    expect({ status, body }).toEqual({ status: 204, body: "" });
    expect(responseHeaders.get("access-control-allow-origin")).toBe("*");
    expect(listOf(responseHeaders.get("access-control-allow-methods"))).toContain(method.toLowerCase());
    expect(listOf(responseHeaders.get("access-control-allow-headers"))).toEqual(listOf(headers));
    expect(Number(responseHeaders.get("access-control-max-age"))).toBeGreaterThan(0);
    expect(responseHeaders.has("access-control-allow-credentials")).toBe(false);
  });

  it("may read the documented headers, of successes and of errors, on every path", async () => {
    for (const [method, path, request] of [
      ["POST", "/tokens", { key, body: { type: "token", data: 1 } }],
      ["GET", "/tokens/abc", { key: "unknown" }],
      ["POST", "/tokens", { key, raw: "{" }],
      ["GET", "/nope", {}],
      ["PUT", "/tokens", {}],
      ["GET", "/tokens/%E0", {}],
      ["POST", "/cloakroom.v1.TokenService/CreateToken", { key, body: { type: "token", data: 1 } }],
      ["POST", "/cloakroom.v1.TokenService/CreateToken", { key, raw: "{" }],
    ] as const) {
      const { headers } = await client(method, path, { ...request, headers: { Origin: SHOP } });
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(listOf(headers.get("access-control-expose-headers"))).toEqual(
        expect.arrayContaining([
          ...["bt-trace-id", "bt-proxy-destination-status", "location", "retry-after"],
          ...["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
          ...["grpc-status", "grpc-message", "grpc-status-details-bin"],
        ]),
      );
      expect(headers.has("access-control-allow-credentials")).toBe(false);
    }
  });

  it("sends no CORS headers to a request without Origin", async () => {
    const { headers } = await client("GET", "/healthz");
    for (const [name] of headers) expect(name).not.toMatch(/^access-control-/);
    expect(await client("OPTIONS", "/tokens")).toMatchObject({ status: 204 });
  });

  it("is not allowed malformed headers", async () => {
    for (const headers of ["a b", "x\u00e4", "", ",", "a,,b", "x:y"]) {
      const response = await preflight(client, "/tokens", SHOP, "POST", Buffer.from(headers).toString("latin1"));
      expect(response.status).toBe(204);
      expect(response.headers.has("access-control-allow-headers")).toBe(false);
    }
  });
});

describe("with origins configured, a page", () => {
  let server: ServerHere;
  let client: RestClient;
  beforeAll(async () => {
    server = await startServerHere({ CORS_ORIGINS: `${SHOP}, http://localhost:3000` });
    client = restClient(server.url);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each([SHOP, "http://localhost:3000"])("may be at %s", async (origin) => {
    const before = await preflight(client, "/tokens", origin, "POST", "bt-api-key");
    const response = await client("GET", "/tokens/abc", { headers: { Origin: origin } });
    for (const { headers } of [before, response]) {
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(listOf(headers.get("vary"))).toContain("origin");
    }
    expect(listOf(before.headers.get("access-control-allow-headers"))).toEqual(["bt-api-key"]);
  });

  it.each([
    OTHER,
    "null",
    "http://shop.example.com",
    "https://shop.example.com.evil.test",
    "https://shop.example.com:8443",
    "HTTPS://SHOP.EXAMPLE.COM",
  ])("may not be at %s", async (origin) => {
    const before = await preflight(client, "/tokens", origin, "POST", "bt-api-key");
    const response = await client("GET", "/tokens/abc", { headers: { Origin: origin } });
    for (const { headers } of [before, response]) {
      for (const [name] of headers) expect(name).not.toMatch(/^access-control-allow/);
    }
  });
});
