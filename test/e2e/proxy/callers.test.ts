import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { logLineOf } from "../../support/log-line.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, startDestination } from "./support/destination.js";
import { code, makeProxy } from "./support/proxies.js";
import { rawCall } from "./support/raw-call.js";

describe("who may call a proxy", () => {
  let tenant: TestTenant;
  let destination: Destination;
  let backEnd: RestClient & { readonly key: string; readonly id: string };
  let token: string;
  const anonymous = restClient(inject("serverUrl"));

  beforeAll(async () => {
    tenant = await newTenant();
    destination = await startDestination();
    backEnd = await tenant.backEnd();
    token = (await backEnd("POST", "/tokens", { body: { type: "token", data: "of the token" } })).body.id;
  });
  afterAll(() => destination[Symbol.asyncDispose]());

  const through = (client: RestClient, key: string, raw = "plain", headers: Record<string, string> = {}) =>
    client("POST", "/proxy", { raw, headers: { "BT-PROXY-KEY": key, "Content-Type": "text/plain", ...headers } });
  const refusal = async (response: ReturnType<RestClient>) => {
    const asked = destination.requests.length;
    const { status, headers, body } = await response;
    expect(destination.requests).toHaveLength(asked);
    expect(headers.has("BT-PROXY-DESTINATION-STATUS")).toBe(false);
    expect(body.proxy_error.status).toBe(status);
    return [status, body.proxy_error.code];
  };

  it("applications with token:use, also if nothing is detokenized, if it requires a key", async () => {
    const { key } = await makeProxy(tenant, { destination_url: destination.url });
    expect((await through(backEnd, key)).status).toBe(200);
    expect(await refusal(through(anonymous, key))).toEqual([401, "unauthenticated"]);
    expect(await refusal(through(anonymous, key, "x", { "BT-API-KEY": "none" }))).toEqual([401, "unauthenticated"]);
    const reader = await tenant.application({ type: "private", permissions: ["token:read"] });
    expect(await refusal(through(reader, key))).toEqual([403, "permission_denied"]);
    expect(await refusal(through(tenant.manage, key))).toEqual([403, "permission_denied"]);
    const outsider = await (await newTenant()).backEnd();
    expect(await refusal(through(outsider, key))).toEqual([404, "not_found"]);
  });

  it("anyone with the proxy's key, but without references, if it requires none", async () => {
    const { key } = await makeProxy(tenant, { destination_url: destination.url, require_auth: false });
    expect((await through(anonymous, key)).status).toBe(200);
    expect((await anonymous("GET", `/proxy?bt-proxy-key=${key}`)).status).toBe(200);
    const withoutRights = await through(anonymous, key, `{{ ${token} }}`);
    expect(withoutRights.status).toBe(403);
    expect(withoutRights.body.proxy_error.detail).toContain("send a BT-API-KEY whose application has token:use");
  });

  it("uses the caller's permissions when a key is sent to a proxy without require_auth", async () => {
    const { id, key } = await makeProxy(tenant, { destination_url: destination.url, require_auth: false });
    expect((await through(backEnd, key, `{{ ${token} }}`)).status).toBe(200);
    expect(destination.last().body.toString()).toBe("of the token");
    const { body: log } = await tenant.manage("GET", "/logs?size=2");
    expect(log.data).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ operation: "use", entity_id: token, actor_id: backEnd.id }),
        expect.objectContaining({ operation: "invoke", entity_id: id, actor_id: backEnd.id }),
      ]),
    );
    const reader = await tenant.application({ type: "private", permissions: ["token:read"] });
    const refused = await through(reader, key, `{{ ${token} }}`);
    expect([refused.status, refused.body.proxy_error.detail]).toEqual([
      403,
      "The key used lacks the permission token:use for this resource.",
    ]);
    // An invalid key counts as none: anyone who knows the proxy's key may call.
    const outsider = await (await newTenant()).backEnd();
    for (const client of [outsider, restClient(inject("serverUrl"), "none"), restClient(inject("serverUrl"), key)]) {
      expect((await through(client, key)).status).toBe(200);
      expect(await refusal(through(client, key, `{{ ${token} }}`))).toEqual([403, "permission_denied"]);
    }
  });

  it("a caller with a key, by the key's permissions, even if the proxy has an application", async () => {
    const masked = (await backEnd("POST", "/tokens", { body: { type: "token", data: "clear", mask: "masked" } })).body
      .id;
    const elsewhere = { type: "token", data: "elsewhere", containers: ["/elsewhere/"] };
    const other = (await backEnd("POST", "/tokens", { body: elsewhere })).body.id;
    const rule = { priority: 1, container: "/general/", transform: "mask", permissions: ["token:use"] };
    const clerk = await tenant.application({ type: "private", rules: [rule] });
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { key } = await makeProxy(tenant, {
      ...{ destination_url: destination.url, require_auth: false },
      application: { id: backEnd.id },
    });
    const sent = async (client: RestClient, raw: string) => {
      expect((await through(client, key, raw)).status).toBe(200);
      return destination.last().body.toString();
    };
    expect(await sent(clerk, `{{ ${masked} }}`)).toBe("masked");
    // What the key's permissions do not cover, the application's do, as for a call without a key.
    expect(await sent(clerk, `{{ ${other} }}`)).toBe("elsewhere");
    expect(await sent(page, `{{ ${masked} }}`)).toBe("clear");
    expect(await sent(anonymous, `{{ ${masked} }}`)).toBe("clear");
    const { body: log } = await tenant.manage("GET", `/logs?entity_id=${other}&size=1`);
    expect(log.data).toEqual([expect.objectContaining({ operation: "use", actor_id: backEnd.id })]);
  });

  it("is in the operator's log, with the proxy's tenant if no other is known", async () => {
    const asked = await makeProxy(tenant, { destination_url: destination.url });
    const open = await makeProxy(tenant, { destination_url: destination.url, require_auth: false });
    const acting = await makeProxy(tenant, {
      ...{ destination_url: destination.url, require_auth: false },
      application: { id: backEnd.id },
    });
    const lineOf = async (client: RestClient, key: string, raw?: string) => {
      const { headers } = await through(client, key, raw);
      const { rpc, route, status, tenant_id, application_id } = JSON.parse(await logLineOf(headers));
      return { rpc, route, status, tenant_id, application_id };
    };
    const proxied = { rpc: "InvokeProxy", route: "/proxy", status: 200, tenant_id: tenant.id };
    expect(await lineOf(backEnd, asked.key)).toEqual({ ...proxied, application_id: backEnd.id });
    expect(await lineOf(anonymous, acting.key)).toEqual({ ...proxied, application_id: backEnd.id });
    expect(await lineOf(anonymous, open.key)).toEqual(proxied);
    expect(await lineOf(anonymous, open.key, `{{ ${token} }}`)).toEqual({ ...proxied, status: 403 });
    expect(await lineOf(anonymous, asked.key)).toEqual({ rpc: "InvokeProxy", route: "/proxy", status: 401 });
  });

  it("a caller without a key, by the permissions of the proxy's application", async () => {
    const use = await makeProxy(tenant, {
      ...{ destination_url: destination.url, require_auth: false },
      application: { id: backEnd.id },
    });
    expect((await through(anonymous, use.key, `{{ ${token} }}`)).status).toBe(200);
    expect(destination.last().body.toString()).toBe("of the token");
    const creator = await tenant.application({ type: "public", permissions: ["token:create"] });
    const create = await makeProxy(tenant, {
      ...{ destination_url: destination.url, require_auth: false },
      application: { id: creator.id },
    });
    expect((await through(anonymous, create.key)).status).toBe(200);
    const detailOf = async (client: RestClient) => {
      const { status, body } = await through(client, create.key, `{{ ${token} }}`);
      expect(status).toBe(403);
      return body.proxy_error.detail;
    };
    expect(await detailOf(anonymous)).toBe("The application of this proxy lacks token:use for this container.");
    const { body: log } = await tenant.manage("GET", `/logs?entity_id=${token}&size=1`);
    expect(log.data).toEqual([expect.objectContaining({ operation: "refuse", actor_id: creator.id })]);
    const reader = await tenant.application({ type: "private", permissions: ["token:read"] });
    expect(await detailOf(reader)).toBe(
      "Neither the key used nor the application of this proxy has token:use for this container.",
    );
    expect((await through(backEnd, create.key, `{{ ${token} }}`)).status).toBe(200);
  });

  it("applications with token:use may use ephemeral proxies until the tenant disables them", async () => {
    const url = `${destination.url}/own`;
    const ephemeral = (client: RestClient) =>
      client("PUT", "/proxy/x?y=1", {
        raw: `{{ ${token} }}`,
        headers: { "BT-PROXY-URL": url, "Content-Type": "text/plain" },
      });
    expect((await ephemeral(backEnd)).status).toBe(200);
    expect(destination.last().line).toBe("PUT /own/x?y=1 HTTP/1.1");
    expect(destination.last().body.toString()).toBe("of the token");
    expect(destination.last().headers.some(([name]) => /^bt-/i.test(name))).toBe(false);
    expect(await refusal(ephemeral(anonymous))).toEqual([401, "unauthenticated"]);
    const reader = await tenant.application({ type: "private", permissions: ["token:read"] });
    expect(await refusal(ephemeral(reader))).toEqual([403, "permission_denied"]);
    const settings = (disable: string) => ({ body: { name: "Test", settings: { disable_ephemeral_proxy: disable } } });
    await tenant.manage("PUT", "/tenants/self", settings("true"));
    expect(await refusal(ephemeral(backEnd))).toEqual([403, "permission_denied"]);
    const { body: log } = await tenant.manage("GET", "/logs?entity_type=proxy&size=1");
    const row = { entity_id: "*", operation: "refuse", actor_id: backEnd.id, message: "Proxy refused: ephemeral" };
    expect(log.data).toEqual([expect.objectContaining(row)]);
    const { key } = await makeProxy(tenant, { destination_url: destination.url });
    expect((await through(backEnd, key)).status).toBe(200);
    await tenant.manage("PUT", "/tenants/self", settings("false"));
    expect((await ephemeral(backEnd)).status).toBe(200);
  });

  it("BT-PROXY-KEY wins over BT-PROXY-URL, and either is enough", async () => {
    const { key } = await makeProxy(tenant, { destination_url: `${destination.url}/configured` });
    await through(backEnd, key, "x", { "BT-PROXY-URL": `${destination.url}/ephemeral` });
    expect(destination.last().line).toBe("POST /configured HTTP/1.1");
    expect(await refusal(backEnd("GET", "/proxy"))).toEqual([400, "validation_failed"]);
  });

  it.each([["none"], ["key_prod_prx_x"], [""]])("with no malformed key: %j", async (key) => {
    const [status] = await refusal(through(backEnd, key));
    expect([400, 404]).toContain(status);
  });

  it("only until the proxy is deleted, changed or its caller loses the permission", async () => {
    const { id, key } = await makeProxy(tenant, { destination_url: `${destination.url}/before` });
    const clerk = await tenant.application({ type: "private", permissions: ["token:use"] });
    expect((await through(clerk, key)).status).toBe(200);
    await tenant.manage("PATCH", `/proxies/${id}`, {
      body: { destination_url: `${destination.url}/after` },
      headers: { "Content-Type": "application/merge-patch+json" },
    });
    expect((await through(clerk, key)).status).toBe(200);
    expect(destination.last().line).toBe("POST /after HTTP/1.1");
    await tenant.manage("PUT", `/applications/${clerk.id}`, {
      body: { name: "Clerk", type: "private", permissions: ["token:read"] },
    });
    expect(await refusal(through(clerk, key))).toEqual([403, "permission_denied"]);
    await tenant.manage("DELETE", `/proxies/${id}`);
    expect(await refusal(through(backEnd, key))).toEqual([404, "not_found"]);
  });

  it("is decided before any of a body is read, and is in the log", async () => {
    const reader = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { id, key } = await makeProxy(tenant, {
      destination_url: destination.url,
      request_transform: code("return req;"),
    });
    const proxies = [`BT-PROXY-KEY: ${key}`, `BT-PROXY-URL: ${destination.url}`];
    for (const proxy of proxies) {
      // The announced body is never sent.
      const head = ["POST /proxy HTTP/1.1", `BT-API-KEY: ${reader.key}`, proxy, "Content-Type: application/json"];
      const { status, body } = await rawCall([...head, "Content-Length: 4900000"], "{");
      expect([status, JSON.parse(body.toString()).proxy_error.code]).toEqual([403, "permission_denied"]);
    }
    const { body } = await tenant.manage("GET", `/logs?entity_type=proxy&actor_id=${reader.id}&size=2`);
    expect(body.data).toEqual(
      [id, "*"]
        .map((entity) => expect.objectContaining({ entity_id: entity, operation: "refuse", actor_id: reader.id }))
        .reverse(),
    );
  });

  // The server caches proxies and callers separately: the next caller may be loaded again, and the proxy not.
  it("with an outdated definition: no caller, also not the next one", async () => {
    const { id, key } = await makeProxy(tenant, { destination_url: `${destination.url}/before` });
    expect((await through(backEnd, key)).status).toBe(200);
    const change = async (body: object) =>
      tenant.manage("PATCH", `/proxies/${id}`, { body, headers: { "Content-Type": "application/merge-patch+json" } });
    await change({ destination_url: `${destination.url}/after` });
    expect((await through(await tenant.backEnd(), key, `{{ ${token} }}`)).status).toBe(200);
    expect(destination.last().line).toBe("POST /after HTTP/1.1");
    await tenant.manage("DELETE", `/proxies/${id}`);
    expect(await refusal(through(await tenant.backEnd(), key, `{{ ${token} }}`))).toEqual([404, "not_found"]);
  });

  it("a proxy cannot use permissions its application has lost, directly or through another proxy", async () => {
    const clerk = await tenant.application({
      type: "private",
      rules: [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:use"] }],
    });
    const acting = () =>
      makeProxy(tenant, {
        ...{ destination_url: destination.url, require_auth: false },
        application: { id: clerk.id },
      });
    const [first, second] = [await acting(), await acting()];
    expect((await through(anonymous, first.key, `{{ ${token} }}`)).status).toBe(200);
    const body = { name: "Clerk", permissions: ["token:create"] };
    expect((await tenant.manage("PUT", `/applications/${clerk.id}`, { body })).status).toBe(200);
    expect(await refusal(through(anonymous, second.key, `{{ ${token} }}`))).toEqual([403, "permission_denied"]);
  });

  it.each([
    ["another port of this host", "https://127.0.0.1:25/"],
    ["a metadata service", "https://169.254.169.254/latest"],
    ["plain http to elsewhere", "http://1.1.1.1/"],
    ["a private address", "https://10.0.0.1/"],
    ["a public address", "https://1.1.1.1/"],
    ["a loopback address in other words", "https://[::ffff:7f00:2]/"],
    ["this host by name", "https://localhost:25/"],
    ["a user name", "https://user@example.com/"],
    ["a fragment", "https://example.com/#a"],
    ["another scheme", "ftp://example.com/"],
    ["no address at all", "example.com"],
  ])("never to %s", async (_, url) => {
    const { status, body } = await backEnd("GET", "/proxy", { headers: { "BT-PROXY-URL": url } });
    expect({ status, fields: Object.keys(body.proxy_error.errors) }).toEqual({ status: 400, fields: ["BT-PROXY-URL"] });
  });
});
