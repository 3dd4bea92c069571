import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { Health } from "../../../gen/health/v1/health_pb.js";
import { DOCUMENTED_POINTS } from "../../../src/rate-limits/rate-scope.js";
import { type RestClient, type RestResponse, restClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";

/** Few enough that they are used up long before a window of ten seconds ends, however busy the machine is. */
const FEW = { global: 40, portal: 12, token_read: 8, token_write: 10, token_search: 6, token_bulk: 5 };
const SETTING = Object.entries(FEW)
  .map(([scope, points]) => `${scope}=${points}`)
  .join(",");
const ROUTES = [
  ["GET", "/tokens", "token_read"],
  ["GET", "/v2/tokens", "token_read"],
  ["POST", "/tokens", "token_write"],
  ["POST", "/tokenize", "token_write"],
  ["POST", "/tokens/search", "token_search"],
  ["POST", "/v2/tokens/search", "token_search"],
  ["POST", "/tokens/import", "token_bulk"],
  ["POST", "/tokens/export", "token_bulk"],
  ["GET", "/docs", "portal"],
  ["HEAD", "/openapi.json", "portal"],
  ["GET", "/tokens/some-token", "global"],
  ["DELETE", "/nowhere", "global"],
  ["GET", "/tokens/%E0%A4%A", "global"],
  ["GET", `/tokens/${"x".repeat(2_000)}`, "global"],
] as const;

describe("rate limits", () => {
  let server: ServerHere;
  beforeAll(async () => {
    // Requests from this machine may claim to come from elsewhere.
    server = await startServerHere({ RATE_LIMITS: SETTING, TRUSTED_PROXIES: "127.0.0.0/8" });
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

  it.each(ROUTES)(
    "of %s %s are used up, and all that follow are rejected, before it asks for a key",
    async (method, path, scope) => {
      const client = from(newAddress());
      const responses = await many(FEW[scope], () => client(method, path));
      expect(new Set(responses.map(({ status }) => status))).not.toContain(429);
      const after = await many(20, () => client(method, path));
      expect(refused(after)).toHaveLength(20);
    },
  );

  it("count POST /tokens and /tokenize together, and together with the same over RPC", async () => {
    const address = newAddress();
    const client = from(address);
    const half = await many(FEW.token_write - 1, (index) =>
      client("POST", index % 2 ? "/tokens" : "/tokenize", { body: {} }),
    );
    expect(refused(half)).toHaveLength(0);
    const rpc = rpcClient(TokenService, "gRPC", { url: server.url, headers: { "x-forwarded-for": address } });
    expect(await failureOf(rpc.createToken({}))).toMatchObject({ code: "Unauthenticated" });
    expect(await failureOf(rpc.createToken({}))).toMatchObject({ code: "ResourceExhausted" });
    expect(await client("POST", "/tokenize", { body: {} })).toMatchObject({ status: 429 });
    expect(await client("GET", "/tokens")).toMatchObject({ status: 401 });
  });

  it("block one client in one scope", async () => {
    const [busy, other] = [from(newAddress()), from(newAddress())];
    const search = () => busy("POST", "/tokens/search", { body: {} });
    expect(refused(await many(FEW.token_search + 1, search))).toHaveLength(1);
    expect(await other("POST", "/tokens/search", { body: {} })).toMatchObject({ status: 401 });
    expect(await busy("POST", "/tokens", { body: {} })).toMatchObject({ status: 401 });
    const late = await search();
    expect(late).toMatchObject({ status: 429 });
    // test/rate-limits/rate-limits.test.ts has the end of the block.
    expect(Number(late.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(late.headers.get("retry-after"))).toBeLessThanOrEqual(10);
  });

  it("report the client's remaining budget in each response", async () => {
    const client = from(newAddress());
    const limitsOf = ({ headers }: RestResponse) =>
      ["limit", "remaining", "reset"].map((name) => Number(headers.get(`ratelimit-${name}`)));
    expect(limitsOf(await client("GET", "/tokens"))).toEqual([FEW.token_read, FEW.token_read - 1, 10]);
    const [limit, remaining, reset] = limitsOf(await client("GET", "/tokens"));
    expect([limit, remaining]).toEqual([FEW.token_read, FEW.token_read - 2]);
    expect(reset).toBeGreaterThan(0);
    expect(limitsOf(await client("GET", "/tenants/self")).slice(0, 2)).toEqual([FEW.global, FEW.global - 3]);
  });

  it("are reported over REST as a problem, whose headers a browser may read", async () => {
    const client = from(newAddress());
    await many(FEW.token_search, () => client("POST", "/tokens/search"));
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
    await many(FEW.token_search, () => from(address)("POST", "/tokens/search"));
    const rpc = rpcClient(TokenService, protocol, { url: server.url, headers: { "x-forwarded-for": address } });
    const failure = await failureOf(rpc.searchTokens({ query: "x".repeat(10_000) }));
    expect(failure).toMatchObject({ code: "ResourceExhausted", reason: "rate_limited" });
    expect(failure.retryAfter).toBeGreaterThan(0);
    expect(Number(failure.metadata.get("retry-after"))).toBe(failure.retryAfter);
    expect(failure.metadata.get("ratelimit-limit")).toBe(String(FEW.token_search));
  });

  describe("for a client that has used up everything", () => {
    const address = "198.51.100.1";
    const client: RestClient = (method, path, request) => from(address)(method, path, request);
    beforeAll(async () => {
      await many(FEW.global + 1, () => client("GET", "/tenants/self"));
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

describe("rate limits without a setting", () => {
  it.each(ROUTES)("are the documented ones: %s %s", async (method, path, scope) => {
    const { headers } = await restClient(unset.url)(method, path);
    expect(headers.get("ratelimit-limit")).toBe(String(DOCUMENTED_POINTS[scope]));
  });

  let unset: ServerHere;
  beforeAll(async () => {
    unset = await startServerHere({ RATE_LIMITS: "global=1000" });
  });
  afterAll(() => unset[Symbol.asyncDispose]());
});

describe("rate limits without trusted proxies", () => {
  it("count by connection, whatever X-Forwarded-For says, with the operator's numbers", async () => {
    const server = await startServerHere({ RATE_LIMITS: "token_search=5" });
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
