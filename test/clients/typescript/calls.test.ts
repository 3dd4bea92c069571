import { beforeAll, describe, expect, it } from "vitest";
import { Cloakroom as BrowserCloakroom } from "../../../clients/typescript/src/browser.js";
import { Cloakroom, CloakroomError } from "../../../clients/typescript/src/node.js";
import { httpResponse, startDestination } from "../../e2e/proxy/support/destination.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";
import { errorOf } from "./support/error-of.js";

const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };

let tenant: TestTenant;
let apiKey: string;
beforeAll(async () => {
  tenant = await newTenant();
  apiKey = (await tenant.backEnd()).key;
});

const TRANSPORTS = {
  grpc: (key: string) => new Cloakroom({ baseUrl: tenant.url, apiKey: key }),
  connect: (key: string) => new Cloakroom({ baseUrl: tenant.url, apiKey: key, transport: "connect" }),
};

describe.each(["grpc", "connect"] as const)("the client over %s", (transport) => {
  let client: Cloakroom;
  beforeAll(() => {
    client = TRANSPORTS[transport](apiKey);
    return () => client.close();
  });

  it("creates, reads, changes and deletes a token with plain JSON", async () => {
    const expiresAt = new Date(Date.now() + 3_600_000);
    const created = await client.tokens.create({ type: "card", data: CARD, metadata: { order: "1" }, expiresAt });
    expect(created).toMatchObject({ type: "card", tenantId: tenant.id, metadata: { order: "1" }, searchIndexes: [] });
    expect(created.createdAt).toBeInstanceOf(Date);
    expect(created.expiresAt).toEqual(expiresAt);
    expect(created.card).toMatchObject({ last4: "4242", expirationMonth: 12 });

    const read = await client.tokens.get<typeof CARD>(created.id);
    expect(read.data?.number).toBe("4242424242424242");
    // The messages that gRPC has for data besides.
    for (const token of [created, read]) expect(Object.keys(token)).not.toContain("cardData");

    const changed = await client.tokens.update(created.id, { metadata: { order: null, other: "2" }, expiresAt: null });
    expect(changed).toMatchObject({ metadata: { other: "2" } });
    expect(changed.expiresAt).toBeUndefined();

    await expect(client.tokens.delete(created.id)).resolves.toBeUndefined();
    expect(await errorOf(client.tokens.get(created.id))).toMatchObject({ code: "not_found", status: 404 });
  });

  it("keeps JSON of any shape unchanged", async () => {
    const data = { text: "ü€😀", list: [1, 2.5, null, { a: [] }], flag: false, none: null, __proto__x: 1, empty: {} };
    const { id } = await client.tokens.create({ type: "token", data });
    expect((await client.tokens.get(id)).data).toEqual(data);
    const own = JSON.parse('{"__proto__": {"polluted": true}, "b": 1}');
    const { id: other } = await client.tokens.create({ type: "token", data: own });
    expect(JSON.stringify((await client.tokens.get(other)).data)).toBe(JSON.stringify(own));
  });

  it("says why it reads, in any script: the log has the call's own reason, or the client's", async () => {
    const { id } = await client.tokens.create({ type: "token", data: "secret" });
    await client.tokens.get(id, { reason: "Rückfrage zu Vorgang 七" });
    await using settled = new Cloakroom({ baseUrl: tenant.url, apiKey, transport, reason: "nightly report" });
    await settled.tokens.get(id);
    const { body } = await tenant.manage("GET", `/logs?entity_id=${id}`);
    const reasons = body.data.flatMap(({ reason }: { readonly reason?: string }) => reason ?? []);
    expect(reasons.toSorted()).toEqual(["Rückfrage zu Vorgang 七", "nightly report"].toSorted());
  });

  it("posts JSON through a proxy, and reads what comes back", async () => {
    const made201 = httpResponse("201 Made", ["Content-Type: application/json", "X-A: b"], '{"charge":17}');
    await using destination = await startDestination(made201);
    const made = await tenant.manage("POST", "/proxies", { body: { name: "P", destination_url: destination.url } });
    const reply = await client.proxies.post(made.body.key, "/charges?now=1", { amount: 5 });
    expect(reply).toMatchObject({ status: 201, body: { charge: 17 }, headers: { "x-a": "b" } });
    expect((await client.proxies.request("DELETE", made.body.key, "/charges/17")).status).toBe(201);
    expect(destination.requests.map(({ line, body }) => [line, body.toString()])).toEqual([
      ["POST /charges?now=1 HTTP/1.1", '{"amount":5}'],
      ["DELETE /charges/17 HTTP/1.1", ""],
    ]);
  });

  it("tokenizes and detokenizes", async () => {
    const tokens = await client.tokenize({ first: "Ada", last: "Lovelace" });
    const text = JSON.parse(JSON.stringify(tokens));
    expect(await client.detokenize({ name: `{{ ${text.first} }}` })).toEqual({ name: "Ada" });
  });

  it("reports the invalid fields", async () => {
    const error = await errorOf(client.tokens.create({ type: "card", data: { number: "4242424242424241" } }));
    expect(error).toMatchObject({ code: "validation_failed", rpcCode: "invalid_argument", status: 400, attempts: 1 });
    expect(error).toMatchObject({ method: "TokenService/CreateToken", reason: "validation_failed" });
    expect(Object.keys(error.fields)).toEqual(["data.number"]);
    expect(error.traceId).toMatch(/^[\w-]{36}$/);
    expect(withoutIds(error)).not.toContain("424242");
  });

  it("names the code of each error", async () => {
    const wrong = TRANSPORTS[transport](`${apiKey.slice(0, -1)}${apiKey.endsWith("0") ? "1" : "0"}`);
    expect(await errorOf(wrong.tokens.get("abc"))).toMatchObject({ code: "unauthenticated", status: 401 });
    await wrong.close();
    expect(await errorOf(client.applications.create({ name: "x", type: "private" }))).toMatchObject({
      code: "permission_denied",
    });
    const id = `same-${transport}`;
    await client.tokens.create({ type: "token", data: "1", id });
    expect(await errorOf(client.tokens.create({ type: "token", data: "2", id }))).toMatchObject({
      code: "already_exists",
    });
  });

  it("exposes the trace id and the headers of a response", async () => {
    const { data, traceId, headers, attempts } = await client.tokens
      .create({ type: "token", data: "x" }, { traceId: "my-trace" })
      .withResponse();
    expect(data.type).toBe("token");
    expect({ traceId, attempts }).toEqual({ traceId: "my-trace", attempts: 1 });
    expect(headers["bt-trace-id"]).toBe("my-trace");
  });

  it("replays the first response for a repeated idempotency key", async () => {
    const options = { idempotencyKey: `order-1-${transport}` };
    const first = await client.tokens.create({ type: "token", data: "1" }, options);
    const second = await client.tokens.create({ type: "token", data: "1" }, options);
    expect(second.id).toBe(first.id);
    const others = await Promise.all([1, 2].map(() => client.tokens.create({ type: "token", data: "1" })));
    expect(new Set([first.id, ...others.map(({ id }) => id)]).size).toBe(3);
  });

  it("iterates over pages", async () => {
    const container = `/${transport}/`;
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.unshift((await client.tokens.create({ type: "token", data: n, containers: [container] })).id);
    }
    const list = client.tokens.list({ container, size: 2 });
    const seen: string[] = [];
    for await (const token of list) seen.push(token.id);
    expect(seen).toEqual(ids);
    const pages: number[] = [];
    for await (const page of list.pages()) pages.push(page.data.length);
    expect(pages).toEqual([2, 2, 1]);
    const first = await list;
    expect((await first.nextPage?.())?.data.map(({ id }) => id)).toEqual(ids.slice(2, 4));
    expect((await list.toArray({ limit: 3 })).map(({ id }) => id)).toEqual(ids.slice(0, 3));
  });

  it("fails an iteration if the list fails", async () => {
    const wrong = TRANSPORTS[transport]("key_prod_pvt_wrong");
    const iterate = async () => {
      for await (const token of wrong.tokens.list()) expect(token).toBeUndefined();
    };
    expect(await errorOf(iterate())).toMatchObject({ code: "unauthenticated" });
    expect(await errorOf(wrong.tokens.get("x").withResponse())).toMatchObject({ code: "unauthenticated" });
    await wrong.close();
  });

  it("iterates over numbered pages", async () => {
    const manage = TRANSPORTS[transport](tenant.managementKey);
    for (const name of ["a", "b", "c"]) {
      await manage.applications.create({ name, type: "private", permissions: ["token:create"] });
    }
    const list = manage.applications.list({ size: 2 });
    const first = await list;
    const all = await list.toArray({ limit: 1_000 });
    expect(first.totalItems).toBe(all.length);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect((await manage.permissions.list()).length).toBeGreaterThan(10);
    expect(await manage.tenant.getUsageReport()).toMatchObject({
      tokenReport: { monthlyActiveTokens: expect.any(Number) },
    });
    await manage.close();
  });

  it.each([
    ["a Date", { at: new Date() }, "data.at"],
    ["a Map", { deep: [new Map()] }, "data.deep[0]"],
    ["a bigint", { n: 1n }, "data.n"],
    ["a function", { f: () => 1 }, "data.f"],
    ["NaN", { n: Number.NaN }, "data.n"],
    ["a number with too many digits", { n: 2 ** 60 }, "data.n"],
  ])("rejects %s in data before it is sent", async (_, data, path) => {
    const error = await errorOf(client.tokens.create({ type: "token", data }));
    expect(error).toMatchObject({ code: "validation_failed", attempts: 0 });
    expect(Object.keys(error.fields)).toEqual([path]);
  });

  it("rejects a value that contains itself", async () => {
    const data: Record<string, unknown> = {};
    data.self = data;
    expect(await errorOf(client.tokens.create({ type: "token", data }))).toMatchObject({ code: "validation_failed" });
  });

  it.each([
    ["apiKey", "k\u00e9y", {}],
    ["traceId", "key", { traceId: "Z\u00fcrich" }],
    ["idempotencyKey", "key", { idempotencyKey: "\u00fc" }],
    ["x y", "key", { headers: { "x y": "1" } }],
    ["connection", "key", { headers: { Connection: "close" } }],
  ])("names %s as it was given if it cannot be a header", async (name, key, options) => {
    const own = TRANSPORTS[transport](key);
    const error = await errorOf(own.tokens.get("abc", options));
    expect(error).toMatchObject({ code: "validation_failed", fields: { [name]: [expect.any(String)] } });
    expect(error.attempts).toBeLessThan(2);
    await own.close();
  });

  it("rejects header values that would begin another header", async () => {
    const error = await errorOf(client.tokens.get("abc", { headers: { "x-a": "1\r\nx-b: 2" } }));
    expect(error).toMatchObject({ code: "validation_failed", fields: { "x-a": [expect.any(String)] } });
  });

  it("names the field of a body above the limit", async () => {
    const data = "x".repeat(6_000_000);
    expect(await errorOf(client.tokens.create({ type: "token", data }))).toMatchObject({ code: "body_too_large" });
  });

  it("shows attempts to interceptors, without the key and the input", async () => {
    const seen: unknown[] = [];
    const watched = new Cloakroom({
      ...{ baseUrl: tenant.url, apiKey: async () => apiKey, transport },
      interceptors: [
        async (request, next) => {
          request.headers["bt-trace-id"] = "from-outside";
          seen.push({ ...request, headers: { ...request.headers } });
          return await next();
        },
      ],
    });
    const { traceId } = await watched.tokens.create({ type: "token", data: "secret" }).withResponse();
    expect(traceId).toBe("from-outside");
    expect(seen).toMatchObject([{ method: "TokenService/CreateToken", attempt: 1 }]);
    expect(JSON.stringify(seen)).not.toMatch(/secret|key_prod/);
    await watched.close();
  });

  it("sends an attempt once, however often an interceptor asks for it", async () => {
    await using eager = new Cloakroom({
      ...{ baseUrl: tenant.url, apiKey, transport },
      interceptors: [
        async (_, next) => {
          await next();
          return await next();
        },
      ],
    });
    const metadata = { twice: transport };
    await expect(eager.tokens.create({ type: "token", data: "x", metadata })).rejects.toMatchObject({
      name: "CloakroomError",
      message: expect.stringContaining("next() twice"),
    });
    const { data } = await client.tokens.list({ metadata });
    expect(data).toHaveLength(1);
  });

  it("makes thousands of concurrent calls", async () => {
    const { id } = await client.tokens.create({ type: "token", data: "x" });
    // A busy server may refuse one more often than the client repeats it.
    const read = async (): Promise<unknown> => {
      const { error, data } = await client.tokens.get(id, { timeout: 0 }).then(
        (token) => ({ data: token.data, error: undefined }),
        (thrown: unknown) => ({ data: undefined, error: thrown }),
      );
      if (error === undefined) return data;
      if (error instanceof CloakroomError && error.code === "unavailable") return read();
      throw error;
    };
    const values = await Promise.all(Array.from({ length: transport === "grpc" ? 3_000 : 500 }, read));
    expect(new Set(values)).toEqual(new Set(["x"]));
  });
});

describe("the client for Node", () => {
  it("takes a key with the line break of the file that it comes from", async () => {
    for (const key of [`${apiKey}\n`, async () => `${apiKey}\r\n`]) {
      await using client = new Cloakroom({ baseUrl: tenant.url, apiKey: key });
      expect((await client.tokens.list()).data).toBeDefined();
    }
  });

  it.each([":path", "te", "content-type", "grpc-timeout", "connection", "two words"])(
    "refuses the header %j before it sends anything",
    async (name) => {
      await using client = new Cloakroom({ baseUrl: tenant.url, apiKey });
      const error = await errorOf(client.tokens.list({}, { headers: { [name]: "x" } }));
      expect(error).toMatchObject({ code: "validation_failed", attempts: 1 });
      expect(error.message).toMatch(/header/);
    },
  );
});

describe("the client for pages", () => {
  it("creates a token with the key of a public application", async () => {
    const { key } = await tenant.application({ type: "public", permissions: ["token:create"] });
    const client = new BrowserCloakroom({ baseUrl: tenant.url, apiKey: key });
    const { id } = await client.tokens.create({ type: "card", data: CARD });
    expect(id).toMatch(/^[\w-]{36}$/);
  });

  it("creates a session that a back end authorizes", async () => {
    const { key } = await tenant.application({ type: "public", permissions: ["token:create"] });
    const session = await new BrowserCloakroom({ baseUrl: tenant.url, apiKey: key }).sessions.create();
    expect(session.expiresAt).toBeInstanceOf(Date);
    const backEnd = await tenant.application({ type: "private", permissions: ["token:read"] });
    await using client = new Cloakroom({ baseUrl: tenant.url, apiKey: backEnd.key });
    await client.sessions.authorize({ nonce: session.nonce, permissions: ["token:read"] });
    const page = new BrowserCloakroom({ baseUrl: tenant.url, apiKey: session.sessionKey });
    expect(await errorOf(page.tokens.get("none-such"))).toMatchObject({ code: "not_found" });
  });
});
