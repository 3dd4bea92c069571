import { once } from "node:events";
import { connect } from "node:http2";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import type { RestClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { httpResponse, startDestination } from "../proxy/support/destination.js";

const caching = ({ headers }: { readonly headers: Headers }) => headers.get("cache-control");

describe("caches may not keep", () => {
  let tenant: TestTenant;
  let client: RestClient & { readonly key: string };
  let id: string;
  beforeAll(async () => {
    tenant = await newTenant();
    client = await tenant.backEnd();
    ({ id } = (await client("POST", "/tokens", { body: { type: "token", data: "secret" } })).body);
  });

  it.each<[string, string, () => string, object]>([
    ["a token that is made", "POST", () => "/tokens", { body: { type: "token", data: 1 } }],
    ["a token that is read", "GET", () => `/tokens/${id}`, {}],
    ["a body that cannot be read", "POST", () => "/tokens", { raw: "{" }],
    ["a refusal without a key", "GET", () => `/tokens/${id}`, { key: undefined }],
    ["a token that is not there", "GET", () => "/tokens/00000000-0000-4000-8000-000000000000", {}],
    ["an invalid path", "GET", () => "/nothing", {}],
    ["a path that cannot be read", "GET", () => "/tokens/%", {}],
    ["an invalid method", "PUT", () => "/tokens", {}],
    ["a proxy without a destination", "GET", () => "/proxy", {}],
  ])("%s", async (_, method, path, request) => {
    expect(caching(await client(method, path(), request))).toBe("no-store");
  });

  it("responses over HTTP/2", async () => {
    const session = connect(inject("serverUrl"));
    const stream = session.request({ ":path": `/tokens/${id}`, "bt-api-key": client.key });
    const [headers] = await once(stream.resume(), "response");
    session.destroy();
    expect(headers).toMatchObject({ ":status": 200, "cache-control": "no-store" });
  });

  it.each(RPC_PROTOCOLS)("responses and errors over %s", async (protocol) => {
    const tokens = rpcClient(TokenService, protocol, { key: client.key });
    let told = new Headers();
    await tokens.getToken({ id }, { onHeader: (headers) => (told = headers) });
    expect(told.get("cache-control")).toBe("no-store");
    const { metadata } = await failureOf(tokens.getToken({ id: "00000000-0000-4000-8000-000000000000" }));
    expect(metadata.get("cache-control")).toBe("no-store");
  });

  it("proxied responses, unless the destination allows it", async () => {
    const through = async (headers: readonly string[]) => {
      await using destination = await startDestination(httpResponse("200 OK", headers, "x"));
      return caching(await client("GET", "/proxy", { headers: { "BT-PROXY-URL": destination.url } }));
    };
    expect(await through([])).toBe("no-store");
    expect(await through(["Cache-Control: public, max-age=60"])).toBe("public, max-age=60");
  });
});
