import { beforeAll, describe, expect, it } from "vitest";
import { ProxyService } from "../../../gen/cloakroom/v1/proxies_pb.js";
import { ReactorService } from "../../../gen/cloakroom/v1/reactors_pb.js";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../../src/services/value.js";
import type { RestClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const CODE = "module.exports = async () => ({ raw: {} });";

let tenant: TestTenant;
let backEnd: RestClient & { readonly key: string };
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
});

async function makeToken(): Promise<string> {
  const body = { type: "token", data: { a: 1 }, metadata: { x: "1" }, search_indexes: ["{{ data.a }}"] };
  return (await backEnd("POST", "/tokens", { body })).body.id;
}

describe.each(RPC_PROTOCOLS)("the update mask of a patch over %s", (protocol) => {
  it("decides alone what changes: named fields that are not set are cleared, others stay", async () => {
    const id = await makeToken();
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    const request = { id, data: toValue({ b: 2 }), metadata: toValue({ y: "2" }), containers: ["/else/"] };
    await tokens.updateToken({ ...request, updateMask: { paths: ["metadata", "search_indexes"] } });
    const { body } = await backEnd("GET", `/tokens/${id}`);
    expect(body).toMatchObject({ data: { a: 1 }, metadata: { x: "1", y: "2" }, containers: ["/general/high/"] });
    expect(body).not.toHaveProperty("search_indexes");
  });

  it.each([
    ["nothing", []],
    ["an invalid field", ["data", "dato"]],
    ["a path into a field", ["data.a"]],
    ["itself", ["update_mask"]],
  ])("is rejected if it names %s", async (_, paths) => {
    const id = await makeToken();
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    // As JSON a mask is one string, in which proto names are in camel case.
    const failure = await failureOf(tokens.updateToken({ id, data: toValue({ a: 2 }), updateMask: { paths } }));
    expect(failure).toMatchObject({ code: "InvalidArgument", reason: "validation_failed", fields: ["update_mask"] });
    expect((await backEnd("GET", `/tokens/${id}`)).body).toMatchObject({ data: { a: 1 } });
  });

  it("applies to names too", async () => {
    const reactor = await tenant.manage("POST", "/reactors", { body: { name: "Reactor", code: CODE } });
    const reactors = rpcClient(ReactorService, protocol, { key: tenant.managementKey });
    await reactors.updateReactor({
      ...{ id: reactor.body.id, name: "Other", code: "module.exports = async () => ({ raw: 1 });" },
      ...{ configuration: toValue({ A: "1" }), updateMask: { paths: ["configuration"] } },
    });
    const { body: patched } = await tenant.manage("GET", `/reactors/${reactor.body.id}`);
    expect(patched).toMatchObject({ name: "Reactor", code: CODE, configuration: { A: "1" } });
    const proxy = await tenant.manage("POST", "/proxies", {
      body: { name: "Proxy", destination_url: "https://example.com/" },
    });
    const proxies = rpcClient(ProxyService, protocol, { key: tenant.managementKey });
    const { id } = proxy.body;
    await proxies.updateProxy({ id, name: "Other", requireAuth: false, updateMask: { paths: ["require_auth"] } });
    expect((await tenant.manage("GET", `/proxies/${id}`)).body).toMatchObject({ name: "Proxy", require_auth: false });
  });
});

it("is not a field of a patch over REST", async () => {
  const id = await makeToken();
  const headers = { "Content-Type": "application/merge-patch+json" };
  const body = { data: { a: 3 }, update_mask: "metadata" };
  expect(await backEnd("PATCH", `/tokens/${id}`, { headers, body })).toMatchObject({
    status: 200,
    body: { metadata: { x: "1" } },
  });
  expect((await backEnd("GET", `/tokens/${id}`)).body).toMatchObject({ data: { a: 3 }, metadata: { x: "1" } });
});
