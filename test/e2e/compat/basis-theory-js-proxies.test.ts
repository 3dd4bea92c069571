import type { BasisTheory } from "@basis-theory/basis-theory-js/types/sdk/index.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveHttp, type TestServer } from "../../egress/servers.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { CARD, olderClient, thrownBy } from "./clients.js";

/** Echoes the request; below /refuse, with status 402. */
function echo(): Promise<TestServer> {
  return serveHttp(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url = "", headers } = request;
    response.statusCode = url.startsWith("/api/refuse") ? 402 : 200;
    response.setHeader("content-type", "application/json");
    response.setHeader("x-destination", "here");
    response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
  });
}

describe("@basis-theory/basis-theory-js 4.30.2, proxies", () => {
  let destination: TestServer;
  let server: ServerHere;
  let tenant: TestTenant;
  let client: BasisTheory;
  let backEnd: BasisTheory;
  beforeAll(async () => {
    destination = await echo();
    server = await startServerHere({ EGRESS_ALLOW: `127.0.0.1:${destination.port}` });
    tenant = await newTenant(server.url, { ...server.environment });
    client = await olderClient(tenant.managementKey, server.url);
    backEnd = await olderClient((await tenant.backEnd()).key, server.url);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await destination?.close();
  });
  const made = (more: object = {}) =>
    client.proxies.create({ name: "Echo", destinationUrl: `http://127.0.0.1:${destination.port}/api`, ...more });

  it("manages them", async () => {
    const proxy = await made({ configuration: { camelCase: "1", old: "2" } });
    expect(proxy).toMatchObject({
      tenantId: tenant.id,
      key: expect.any(String),
      configuration: { camelCase: "1", old: "2" },
      requireAuth: true,
    });
    await expect(client.proxies.patch(proxy.id, { configuration: { old: null } })).resolves.not.toThrow();
    expect((await client.proxies.retrieve(proxy.id)).configuration).toEqual({ camelCase: "1" });
    const list = await client.proxies.list({ name: "Ec*", size: 1 });
    expect(list).toMatchObject({ pagination: { totalItems: 1, pageSize: 1 }, data: [{ id: proxy.id }] });
    const model = { name: "Other", destinationUrl: proxy.destinationUrl };
    await expect(client.proxies.update(proxy.id, model)).resolves.toMatchObject({ name: "Other", key: proxy.key });
    await client.proxies.delete(proxy.id);
    expect(await thrownBy(client.proxies.retrieve(proxy.id))).toMatchObject({ status: 404 });
  });

  it.each(["post", "put", "patch"] as const)(
    "calls the destination by %s with values in place of references",
    async (verb) => {
      const { key } = await made();
      const { id } = await backEnd.tokens.create({ type: "card", data: Object(CARD) });
      const reply = await backEnd.proxy[verb]({
        path: "charges",
        query: { reference: `{{ ${id} | json: '$.number' | last4 }}` },
        headers: { "BT-PROXY-KEY": key, "X-Own": "kept", "Content-Type": "application/json" },
        body: { card: { number: `{{ ${id} | json: '$.number' }}` }, amount: 5 },
      });
      expect(reply).toMatchObject({ method: verb.toUpperCase(), headers: { "x-own": "kept" } });
      expect(reply.url).toMatch(/^\/api\/charges\?reference=4242$/);
      expect(JSON.parse(reply.body)).toEqual({ card: { number: CARD.number }, amount: 5 });
      expect(Object.keys(reply.headers)).not.toContain("bt-api-key");
      expect(Object.keys(reply.headers)).not.toContain("bt-proxy-key");
    },
  );

  it.each(["get", "delete"] as const)("calls the destination with %s", async (verb) => {
    const { key } = await made();
    const reply = await backEnd.proxy[verb]({ headers: { "BT-PROXY-KEY": key }, query: { a: "1" } });
    expect(reply).toMatchObject({ method: verb.toUpperCase(), url: expect.stringMatching(/^\/api\/?\?a=1$/) });
  });

  it("exposes the headers of the response, including the destination's status", async () => {
    const { key } = await made();
    const options = { headers: { "BT-PROXY-KEY": key }, body: { a: 1 }, includeResponseHeaders: true };
    const reply = await backEnd.proxy.post(options);
    expect(reply).toMatchObject({
      data: { method: "POST" },
      headers: { "bt-proxy-destination-status": "200", "x-destination": "here" },
    });
  });

  it("runs transforms, with a client of the proxy's application", async () => {
    const application = await client.applications.create({
      name: "Transform",
      type: "private",
      permissions: ["token:create"],
    });
    const { key } = await made({
      application: { id: application.id },
      responseTransform: {
        code: `module.exports = async ({ args, bt }) => ({
          headers: args.headers,
          body: { method: args.body.method, token: await bt.tokenize("made in the transform") },
        });`,
      },
    });
    const reply = await backEnd.proxy.post({ headers: { "BT-PROXY-KEY": key }, body: {} });
    expect(reply.method).toBe("POST");
    await expect(backEnd.tokens.retrieve(reply.token)).resolves.toMatchObject({ data: "made in the transform" });
  });

  it("calls the address in BT-PROXY-URL, without a proxy", async () => {
    const { id } = await backEnd.tokens.create({ type: "token", data: "secret" });
    const reply = await backEnd.proxy.post({
      headers: { "BT-PROXY-URL": `http://127.0.0.1:${destination.port}/api` },
      body: { value: `{{${id}}}` },
    });
    expect(JSON.parse(reply.body)).toEqual({ value: "secret" });
  });

  it("throws errors of the destination and of the proxy", async () => {
    const { key } = await made();
    const headers = { "BT-PROXY-KEY": key };
    expect(await thrownBy(backEnd.proxy.post({ path: "refuse", headers, body: {} }))).toMatchObject({
      status: 402,
      data: { method: "POST" },
    });
    expect(await thrownBy(backEnd.proxy.post({ headers, body: { a: "{{ not-there }}" } }))).toMatchObject({
      status: 400,
      data: { proxy_error: { status: 400, detail: expect.stringContaining("not-there") } },
    });
  });
});
