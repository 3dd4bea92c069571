import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { Health } from "../../gen/health/v1/health_pb.js";
import { type RestClient, type RestResponse, restClient } from "../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../support/rpc.js";
import { type ServerProcess, startServerProcess } from "../support/server.js";

describe("the documented rate limits", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    // The default limits. Requests from this machine may claim to come from elsewhere.
    server = await startServerProcess({ RATE_LIMITS: "global=1000", TRUSTED_PROXIES: "127.0.0.0/8" });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  let clients = 0;
  /** An address of its own, as a proxy in front would report it. */
  const newAddress = (): string => {
    clients += 1;
    return `203.0.113.${clients}`;
  };
  const from = (address: string): RestClient => {
    const client = restClient(server.url);
    const headers = { "X-Forwarded-For": address };
    return (method, path, request = {}) =>
      client(method, path, { ...request, headers: { ...headers, ...request.headers } });
  };
  const many = async (count: number, send: (index: number) => Promise<RestResponse>): Promise<RestResponse[]> => {
    const responses: RestResponse[] = [];
    let next = 0;
    const work = async () => {
      while (next < count) {
        next += 1;
        responses.push(await send(next));
      }
    };
    await Promise.all(Array.from({ length: 20 }, work));
    return responses;
  };
  const refused = (responses: readonly RestResponse[]) => responses.filter(({ status }) => status === 429);

  it.each<[string, string, number]>([
    ["GET", "/tokens", 100],
    ["GET", "/v2/tokens", 100],
    ["POST", "/tokens", 200],
    ["POST", "/tokenize", 200],
    ["POST", "/tokens/search", 50],
    ["POST", "/v2/tokens/search", 50],
    ["GET", "/docs", 600],
    ["GET", "/openapi.json", 600],
    ["GET", "/tokens/some-token", 1_000],
    ["DELETE", "/nowhere", 1_000],
    ["GET", "/tokens/%E0%A4%A", 1_000],
    ["GET", `/tokens/${"x".repeat(2_000)}`, 1_000],
  ])("%s %s serves its requests and rejects all that follow, before it asks for a key", async (method, path, limit) => {
    const client = from(newAddress());
    const responses = await many(limit, () => client(method, path));
    expect(new Set(responses.map(({ status }) => status))).not.toContain(429);
    const after = await many(20, () => client(method, path));
    expect(refused(after)).toHaveLength(20);
  });

  it("count POST /tokens and /tokenize together, and together with the same over RPC", async () => {
    const address = newAddress();
    const client = from(address);
    const half = await many(199, (index) => client("POST", index % 2 ? "/tokens" : "/tokenize", { body: {} }));
    expect(refused(half)).toHaveLength(0);
    const rpc = rpcClient(TokenService, "gRPC", { url: server.url, headers: { "x-forwarded-for": address } });
    expect(await failureOf(rpc.createToken({}))).toMatchObject({ code: "Unauthenticated" });
    expect(await failureOf(rpc.createToken({}))).toMatchObject({ code: "ResourceExhausted" });
    expect(await client("POST", "/tokenize", { body: {} })).toMatchObject({ status: 429 });
    expect(await client("GET", "/tokens")).toMatchObject({ status: 401 });
  });

  it("block one client in one scope, for ten seconds", async () => {
    const [busy, other] = [from(newAddress()), from(newAddress())];
    const start = performance.now();
    expect(refused(await many(51, () => busy("POST", "/tokens/search", { body: {} })))).toHaveLength(1);
    const blocked = performance.now();
    expect(await other("POST", "/tokens/search", { body: {} })).toMatchObject({ status: 401 });
    expect(await busy("POST", "/tokens", { body: {} })).toMatchObject({ status: 401 });
    await pause(4_000);
    const waited = performance.now() - blocked;
    const late = await busy("POST", "/tokens/search", { body: {} });
    expect(late).toMatchObject({ status: 429 });
    // Requests sent while blocked do not extend the block of 10 s: the elapsed time is subtracted, in whole seconds.
    const wait = Number(late.headers.get("retry-after"));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(Math.ceil((10_000 - waited) / 1_000));
    await pause(wait * 1_000);
    expect(await busy("POST", "/tokens/search", { body: {} })).toMatchObject({ status: 401 });
    expect(performance.now() - start).toBeGreaterThanOrEqual(10_000);
  });

  it("report the client's remaining budget in each response", async () => {
    const client = from(newAddress());
    const limitsOf = ({ headers }: RestResponse) =>
      ["limit", "remaining", "reset"].map((name) => Number(headers.get(`ratelimit-${name}`)));
    expect(limitsOf(await client("GET", "/tokens"))).toEqual([100, 99, 10]);
    const [limit, remaining, reset] = limitsOf(await client("GET", "/tokens"));
    expect([limit, remaining]).toEqual([100, 98]);
    expect(reset).toBeGreaterThan(0);
    expect(limitsOf(await client("GET", "/tenants/self")).slice(0, 2)).toEqual([1_000, 997]);
  });

  it("are reported over REST as a problem, whose headers a browser may read", async () => {
    const client = from(newAddress());
    await many(50, () => client("POST", "/tokens/search"));
    const response = await client("POST", "/tokens/search", {
      body: { large: "x".repeat(100_000) },
      headers: { origin: "https://shop.example.com", "bt-trace-id": "my-trace" },
    });
    expect(response).toMatchObject({
      status: 429,
      body: { status: 429, code: "rate_limited", title: "Too Many Requests", instance: "urn:cloakroom:trace:my-trace" },
    });
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(response.headers.get("ratelimit-remaining")).toBe("0");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-expose-headers")).toContain("Retry-After");
  });

  it.each(RPC_PROTOCOLS)("are reported over %s with the code, the reason and the wait", async (protocol) => {
    const address = newAddress();
    await many(50, () => from(address)("POST", "/tokens/search"));
    const rpc = rpcClient(TokenService, protocol, { url: server.url, headers: { "x-forwarded-for": address } });
    const failure = await failureOf(rpc.searchTokens({ query: "x".repeat(10_000) }));
    expect(failure).toMatchObject({ code: "ResourceExhausted", reason: "rate_limited" });
    expect(failure.retryAfter).toBeGreaterThan(0);
    expect(Number(failure.metadata.get("retry-after"))).toBe(failure.retryAfter);
    expect(failure.metadata.get("ratelimit-limit")).toBe("50");
  });

  describe("for a client that has used up everything", () => {
    const address = "198.51.100.1";
    const client: RestClient = (method, path, request) => from(address)(method, path, request);
    beforeAll(async () => {
      await many(1_001, () => client("GET", "/tenants/self"));
    });

    it("apply to the proxy's route, in the proxy's format", async () => {
      const response = await client("POST", "/proxy/some/path", { raw: "x".repeat(100_000) });
      expect(response).toMatchObject({ status: 429, body: { proxy_error: { status: 429, code: "rate_limited" } } });
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    });

    it("apply to wrong methods, wrong types, pages and missing paths", async () => {
      const rpc = "/cloakroom.v1.TokenService/GetToken";
      const wrong: Promise<RestResponse>[] = [
        client("PUT", "/tokens"),
        client("DELETE", rpc),
        client("POST", rpc, { raw: "x", headers: { "content-type": "text/plain" } }),
        client("GET", "/docs"),
        client("GET", "/nowhere"),
      ];
      for (const response of await Promise.all(wrong)) {
        expect(response).toMatchObject({ status: 429, body: { code: "rate_limited" } });
        expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      }
      const reflection = rpcClient(ServerReflection, "gRPC", {
        url: server.url,
        headers: { "x-forwarded-for": address },
      });
      const ask = async () => {
        for await (const _ of reflection.serverReflectionInfo(noQuestions())) return;
      };
      expect(await failureOf(ask())).toMatchObject({ code: "ResourceExhausted", reason: "rate_limited" });
    });

    it("exempt health checks and preflights", async () => {
      expect(await client("GET", "/healthz")).toMatchObject({ status: 200 });
      expect(await client("GET", "/readyz")).toMatchObject({ status: 200 });
      const health = rpcClient(Health, "gRPC", { url: server.url, headers: { "x-forwarded-for": address } });
      expect(await health.check({})).toMatchObject({ status: 1 });
      expect(await client("OPTIONS", "/tokens", { headers: { origin: "https://shop.example.com" } })).toMatchObject({
        status: 204,
      });
    });
  });
});

async function* noQuestions(): AsyncGenerator<never> {}

describe("rate limits without trusted proxies", () => {
  it("count by connection, whatever X-Forwarded-For says, with the operator's numbers", async () => {
    const server = await startServerProcess({ RATE_LIMITS: "token_search=5" });
    try {
      const client = restClient(server.url);
      const statuses: number[] = [];
      for (let round = 0; round < 7; round += 1) {
        const headers = { "X-Forwarded-For": `203.0.113.${round}` };
        statuses.push((await client("POST", "/tokens/search", { headers })).status);
      }
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });
});
