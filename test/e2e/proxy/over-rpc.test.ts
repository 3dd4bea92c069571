import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProxyService } from "../../../gen/cloakroom/v1/proxies_pb.js";
import { failureOf, RPC_PROTOCOLS, type RpcProtocol, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, httpResponse, startDestination } from "./support/destination.js";
import { code, type MadeProxy, makeProxy } from "./support/proxies.js";

describe("a proxied request as a method", () => {
  let tenant: TestTenant;
  let destination: Destination;
  let proxy: MadeProxy;
  let key: string;
  let token: string;
  let reply: Buffer;

  beforeAll(async () => {
    tenant = await newTenant();
    destination = await startDestination((socket) => socket.write(reply));
    const backEnd = await tenant.backEnd();
    ({ key } = backEnd);
    proxy = await makeProxy(tenant, { destination_url: `${destination.url}/base` });
    token = (await backEnd("POST", "/tokens", { body: { type: "token", data: "of the token" } })).body.id;
  });
  afterAll(() => destination[Symbol.asyncDispose]());

  const client = (protocol: RpcProtocol, apiKey: string | undefined = key) =>
    rpcClient(ProxyService, protocol, { key: apiKey });
  const through = (proxyKey: string) => ({ case: "proxyKey", value: proxyKey }) as const;
  const text = (words: string) => new TextEncoder().encode(words);

  it.each(RPC_PROTOCOLS)("is sent and answered over %s", async (protocol) => {
    reply = httpResponse("404 Not Here", ["Content-Type: text/own", "X-Own: a", "X-Own: b"], "the response");
    const got = await client(protocol).invokeProxy({
      target: through(proxy.key),
      ...{ method: "PUT", path: "/a%20b/", query: "?x=1&y" },
      headers: [
        { name: "X-Case", value: `<{{ ${token} }}>` },
        { name: "BT-Own", value: "no" },
      ],
      body: { contentType: "text/plain", data: text(`{{ ${token} }}!`) },
    });
    expect(destination.last().line).toBe("PUT /base/a%20b/?x=1&y HTTP/1.1");
    expect(destination.last().headers.slice(1, 3)).toEqual([
      ["X-Case", "<of the token>"],
      ["Content-Type", "text/plain"],
    ]);
    expect(destination.last().body.toString()).toBe("of the token!");
    expect([got.status, got.destinationStatus, got.body?.contentType]).toEqual([404, 404, "text/own"]);
    expect(new TextDecoder().decode(got.body?.data)).toBe("the response");
    expect(got.headers.filter(({ name }) => name === "X-Own").map(({ value }) => value)).toEqual(["a", "b"]);
  });

  it("needs no key if the proxy requires none, and can use an ephemeral proxy", async () => {
    reply = httpResponse("200 OK", []);
    const open = await makeProxy(tenant, { destination_url: destination.url, require_auth: false });
    const anonymous = rpcClient(ProxyService, "gRPC", {});
    expect((await anonymous.invokeProxy({ target: through(open.key), method: "GET" })).status).toBe(200);
    const own = { case: "proxyUrl", value: `${destination.url}/own` } as const;
    expect((await client("gRPC").invokeProxy({ target: own, method: "GET", query: "q" })).status).toBe(200);
    expect(destination.last().line).toBe("GET /own?q HTTP/1.1");
    expect(await failureOf(anonymous.invokeProxy({ target: own, method: "GET" }))).toMatchObject({
      reason: "unauthenticated",
    });
  });

  it.each([
    ["a path that would be a part of the host", { path: ".evil.example/" }, "path"],
    ["a path with a user", { path: "@evil.example/" }, "path"],
    ["a path that leaves the destination's", { path: "/../x" }, "path"],
    ["a path with a line break", { path: "/ HTTP/1.1\r\nX: y" }, "path"],
    ["a query with a line break", { query: "?a\r\nb" }, "query"],
    ["another method", { method: "CONNECT" }, "method"],
    ["no target", { target: { case: undefined } }, "target"],
  ] as const)("is rejected with %s", async (_, wrong, field) => {
    const asked = destination.requests.length;
    const failure = await failureOf(
      client("Connect binary").invokeProxy({ target: through(proxy.key), method: "GET", ...wrong }),
    );
    expect(failure).toMatchObject({ code: "InvalidArgument", reason: "validation_failed", fields: [field] });
    expect(destination.requests).toHaveLength(asked);
  });

  it.each([
    ["a line break", "X-A", "a\r\nX-Injected: b"],
    ["an invalid name", "X A", "a"],
  ])("sends no header with %s", async (_, name, value) => {
    reply = httpResponse("200 OK", []);
    const call = client("gRPC").invokeProxy({ target: through(proxy.key), method: "GET", headers: [{ name, value }] });
    const outcome = await call.then(
      () => "sent",
      () => "refused",
    );
    // A malformed name is dropped, as over HTTP; a malformed value cannot be sent at all.
    expect(outcome).toBe(name === "X A" ? "sent" : "refused");
    if (outcome === "sent") expect(destination.last().headers.some(([sent]) => sent === name)).toBe(false);
  });

  it("fails as the proxy does: unknown tokens, permissions, time-outs, code", async () => {
    const invoke = (headers: { name: string; value: string }[], proxyKey = proxy.key) =>
      client("gRPC").invokeProxy({ target: through(proxyKey), method: "POST", headers });
    expect(await failureOf(invoke([{ name: "X", value: "{{ none-such }}" }]))).toMatchObject({
      ...{ code: "InvalidArgument", reason: "validation_failed" },
      message: "Failed to detokenize some tokens: none-such. Tokens were not found.",
    });
    expect(await failureOf(invoke([], "none"))).toMatchObject({ code: "NotFound", reason: "not_found" });
    const reader = await tenant.application({ type: "private", permissions: ["token:read"] });
    const refused = client("gRPC", reader.key).invokeProxy({ target: through(proxy.key), method: "GET" });
    expect(await failureOf(refused)).toMatchObject({ code: "PermissionDenied", reason: "permission_denied" });
    const thrower = await makeProxy(tenant, {
      destination_url: destination.url,
      request_transform: code("throw new Error('own words')"),
    });
    expect(await failureOf(invoke([], thrower.key))).toMatchObject({
      code: "Internal",
      message: "Reactor Runtime Error",
      reason: "proxy_error",
    });
    const gone = await startDestination();
    await gone[Symbol.asyncDispose]();
    const closed = await makeProxy(tenant, { destination_url: gone.url });
    expect(await failureOf(invoke([], closed.key))).toMatchObject({
      code: "Unavailable",
      reason: "destination_unreachable",
    });
  });

  it("returns responses of up to 5 MB in its one message", async () => {
    reply = httpResponse("200 OK", [], Buffer.alloc(5 * 1024 * 1024));
    const got = await client("gRPC").invokeProxy({ target: through(proxy.key), method: "GET" });
    expect(got.body?.data).toHaveLength(5 * 1024 * 1024);
    reply = httpResponse("200 OK", [], Buffer.alloc(5 * 1024 * 1024 + 1));
    const failure = await failureOf(client("gRPC").invokeProxy({ target: through(proxy.key), method: "GET" }));
    expect(failure).toMatchObject({ code: "ResourceExhausted", reason: "body_too_large" });
  });
});
