import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TokenizeService, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import type { RestClient, RestRequest } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let keys = 0;
const newKey = () => `key-${process.pid}-${++keys}`;
const withKey = (key: string, request: RestRequest = {}): RestRequest => ({
  ...request,
  headers: { ...request.headers, "BT-IDEMPOTENCY-KEY": key },
});
const card = (number: string) => ({ type: "card", data: { number, cvc: "987" } });

describe("a request with an idempotency key", () => {
  let tenant: TestTenant;
  let backEnd: RestClient & { readonly key: string };
  /** Sees tokens masked. */
  let clerk: RestClient & { readonly key: string };
  let stored: Stored;
  let applicationId: string;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    clerk = await tenant.application({ type: "private", permissions: ["token:create", "token:update"] });
    stored = await openStored();
    applicationId = (await tenant.application({ type: "private", permissions: ["token:create"] })).id;
  });
  afterAll(() => stored[Symbol.asyncDispose]());

  /** A first request, another one that differs, and the number of log rows of each replay. */
  const operations: readonly [
    string,
    string,
    string,
    () => RestClient,
    () => object | undefined,
    () => object | undefined,
    number?,
  ][] = [
    [
      "creating a token",
      "POST",
      "/tokens",
      () => clerk,
      () => ({ ...card("4242424242424242"), metadata: { order: "1" } }),
      () => ({ type: "token", data: 1 }),
    ],
    ["tokenizing", "POST", "/tokenize", () => clerk, () => ["a", { b: 1 }], () => ({ c: true }), 2],
    [
      "creating an application",
      "POST",
      "/applications",
      () => tenant.manage,
      () => ({ name: "One", type: "private", permissions: ["token:read"] }),
      () => ({ name: "Two", type: "public", permissions: ["token:create"] }),
    ],
    [
      "replacing an application",
      "PUT",
      "/applications/{id}",
      () => tenant.manage,
      () => ({ name: "One", permissions: ["token:create"] }),
      () => ({ name: "Two", permissions: ["token:read"] }),
    ],
    ["creating a key", "POST", "/applications/{id}/keys", () => tenant.manage, () => undefined, () => undefined],
    [
      "changing the tenant",
      "PUT",
      "/tenants/self",
      () => tenant.manage,
      () => ({ name: "One" }),
      () => ({ name: "Two" }),
    ],
  ];

  it.each(operations)(
    "%s is carried out once, and answered alike whatever comes again",
    async (_, method, template, client, first, second, rows = 1) => {
      const path = template.replace("{id}", applicationId);
      const key = newKey();
      const send = (body: object | undefined) => client()(method, path, withKey(key, body ? { body } : {}));
      const one = await send(first());
      expect(one.status).toBeLessThan(300);
      expect(one.headers.get("bt-idempotency-replayed")).toBeNull();
      const after = await stored.counts(tenant.id);
      for (const body of [first(), second()]) {
        const again = await send(body);
        expect({ status: again.status, body: again.body }).toEqual({ status: one.status, body: one.body });
        expect(again.headers.get("location")).toBe(one.headers.get("location"));
        expect(again.headers.get("bt-idempotency-replayed")).toBe("true");
      }
      expect(await stored.counts(tenant.id)).toEqual({ ...after, audit_logs: after.audit_logs + 2 * rows });
      const fresh = await client()(method, path, withKey(newKey(), second() ? { body: second() } : {}));
      expect(fresh.status).toBe(one.status);
      expect(fresh.body).not.toEqual(one.body);
    },
  );

  const code = "module.exports = async () => ({ raw: 1 });";
  const proxy = { name: "P", destination_url: "https://example.com/" };
  const formula = { name: "F", type: "private", code, configuration: [], request_parameters: [] };
  const connection = {
    ...{ connection_formula_id: "simulator-card", method: "card", display_name: "Simulator", active: true },
    ...{ fields: [{ key: "merchant_id", value: "shop" }], accepted_countries: ["US"], accepted_currencies: ["USD"] },
  };
  const broken = "module.exports = (";
  it.each<[string, string, () => RestClient, object, readonly object[]]>([
    [
      "POST",
      "/tokens",
      () => clerk,
      { type: "token", data: 1 },
      [
        { type: "nope", data: 1 },
        { type: "card", data: {} },
      ],
    ],
    ["POST", "/tokenize", () => clerk, { a: 1 }, [{ type: "nope", data: 1 }, Array(101).fill(1)]],
    [
      "PUT",
      "/applications/{id}",
      () => tenant.manage,
      { name: "One", permissions: ["token:create"] },
      [{ name: "One", permissions: ["nope"] }],
    ],
    [
      "POST",
      "/proxies",
      () => tenant.manage,
      proxy,
      [
        { ...proxy, destination_url: "http://10.0.0.1" },
        { ...proxy, request_transform: { code: broken } },
      ],
    ],
    ["POST", "/reactors", () => tenant.manage, { name: "R", code }, [{ name: "R", code: broken }]],
    [
      "POST",
      "/reactor-formulas",
      () => tenant.manage,
      formula,
      [
        { ...formula, icon: "x" },
        { ...formula, code: broken },
      ],
    ],
    ["POST", "/orchestration/connections", () => tenant.manage, connection, [{ ...connection, method: "nope" }]],
    ["POST", "/tenants/self/invitations", () => tenant.manage, { email: "a@example.com" }, [{ email: "anonymous" }]],
  ])("is replayed even if the repeated request is invalid: %s %s", async (method, template, client, good, wrong) => {
    const path = template.replace("{id}", applicationId);
    const key = newKey();
    const send = (request: RestRequest, id = key) => client()(method, path, withKey(id, request));
    const one = await send({ body: good });
    expect(one.status, JSON.stringify(one.body)).toBeLessThan(300);
    const after = await stored.counts(tenant.id);
    const unreadable = [{ body: { type: 5, name: 5, email: 5, display_name: 5, data: null } }, { raw: "{" }];
    const requests = [...wrong.map((body) => ({ body })), ...(template === "/tokenize" ? [{ raw: "{" }] : unreadable)];
    for (const request of requests) {
      const again = await send(request);
      expect({ status: again.status, body: again.body }).toEqual({ status: one.status, body: one.body });
      expect(again.headers.get("location")).toBe(one.headers.get("location"));
      expect(again.headers.get("bt-idempotency-replayed")).toBe("true");
      const fresh = await send(request, newKey());
      expect(fresh.status).toSatisfy((status) => status === 400 || status === 422);
      expect(fresh.headers.get("bt-idempotency-replayed")).toBeNull();
    }
    expect(await stored.counts(tenant.id)).toEqual({ ...after, audit_logs: after.audit_logs + requests.length });
  });

  it("does not replay the response of another resource or caller for an invalid request", async () => {
    const key = newKey();
    const put = { name: "One", permissions: ["token:create"] };
    expect((await tenant.manage("PUT", `/applications/${applicationId}`, withKey(key, { body: put }))).status).toBe(
      200,
    );
    const other = await tenant.application({ type: "private", permissions: ["token:create"] });
    const wrong = await tenant.manage("PUT", `/applications/${other.id}`, withKey(key, { body: {} }));
    expect(wrong).toMatchObject({ status: 400, body: { code: "validation_failed" } });
    await backEnd("POST", "/tokens", withKey(key, { body: { type: "token", data: 1 } }));
    expect(await other("POST", "/tokens", withKey(key, { body: {} }))).toMatchObject({ status: 400 });
    const anonymous = await other("POST", "/tokens", { ...withKey(key, { body: {} }), key: "anonymous" });
    expect(anonymous.status).toBe(401);
  });

  it("keeps its creator's permission: a caller who sees masks gets the response read again", async () => {
    const clerk = await tenant.application({ type: "private", permissions: ["token:create"] });
    const key = newKey();
    const one = await clerk("POST", "/tokens", withKey(key, { body: card("4242424242424242") }));
    const again = await clerk("POST", "/tokens", withKey(key, { body: card("4242424242424242") }));
    expect(again.body).toEqual(one.body);
    expect(JSON.stringify(again.body)).not.toContain("4242424242424242");
  });

  it("does not store a card's cvc: the replayed response omits it", async () => {
    const key = newKey();
    const body = { ...card("4242424242424242"), mask: { code: "{{ data.cvc }}", last: "{{ data.number | last4 }}" } };
    const one = await backEnd("POST", "/tokens", withKey(key, { body }));
    expect(one.body.data).toEqual({ code: "987", last: "4242" });
    const again = await backEnd("POST", "/tokens", withKey(key, { body }));
    expect(again.status).toBe(201);
    expect(again.body).toEqual({ ...one.body, data: { last: "4242" } });

    const tokenize = newKey();
    const deep = { deep: [body] };
    const made = await backEnd("POST", "/tokenize", withKey(tokenize, { body: deep }));
    expect(made.body.deep[0].data.code).toBe("987");
    const repeated = await backEnd("POST", "/tokenize", withKey(tokenize, { body: deep }));
    expect(repeated.body).toEqual({ ...made.body, deep: [{ ...made.body.deep[0], data: { last: "4242" } }] });
  });

  it("is replayed if a mask expands deep data deep inside", async () => {
    const nested = (levels: number, innermost: unknown): unknown =>
      Array.from({ length: levels }).reduce((inner) => ({ a: inner }), innermost);
    // The body's own object is one of the 64 levels that JSON may have.
    const body = { type: "token", data: nested(63, 1), mask: nested(63, "{{ data }}") };
    const shown = nested(126, 1);
    const twice = async (method: string, path: string, request: RestRequest) => {
      const repeated = withKey(newKey(), request);
      const first = await clerk(method, path, repeated);
      const second = await clerk(method, path, repeated);
      expect([first.status, second.status]).toEqual([first.status < 300 ? first.status : 200, first.status]);
      expect(second.body).toEqual(first.body);
      return first.body;
    };
    const { id, data } = await twice("POST", "/tokens", { body });
    expect(data).toEqual(shown);
    expect(await twice("POST", "/tokenize", { body })).toMatchObject({ data: shown });
    const patch = { headers: { "Content-Type": "application/merge-patch+json" }, body: { metadata: { x: "1" } } };
    expect(await twice("PATCH", `/tokens/${id}`, patch)).toMatchObject({ data: shown });
  });

  it("is not stored if it fails: the key can be used for another attempt", async () => {
    const key = newKey();
    const wrong = [
      await backEnd("POST", "/tokens", withKey(key, { body: { type: "nope", data: 1 } })),
      await backEnd("POST", "/tokens", withKey(key, { raw: "{" })),
      await backEnd("POST", "/tokens", { ...withKey(key, { body: { type: "token", data: 1 } }), key: "anonymous" }),
    ];
    expect(wrong.map(({ status }) => status)).toEqual([400, 400, 401]);
    await backEnd("POST", "/tokens", { body: { type: "token", id: "idem-taken", data: 1 } });
    const taken = await backEnd(
      "POST",
      "/tokens",
      withKey(key, { body: { type: "token", id: "idem-taken", data: 2 } }),
    );
    expect(taken.status).toBe(409);
    const good = await backEnd("POST", "/tokens", withKey(key, { body: { type: "token", data: "x", mask: "good" } }));
    expect(good).toMatchObject({ status: 201, body: { data: "good" } });
    const again = await backEnd("POST", "/tokens", withKey(key, { body: { type: "token", data: "other" } }));
    expect(again.body.id).toBe(good.body.id);
  });

  it("is not stored if it is refused: it works once the permission is there", async () => {
    const client = await tenant.application({ type: "private", permissions: ["token:read"] });
    const key = newKey();
    const create = () => client("POST", "/tokens", withKey(key, { body: { type: "token", data: 1 } }));
    expect(await create()).toMatchObject({ status: 403 });
    await tenant.manage("PUT", `/applications/${client.id}`, { body: { name: "x", permissions: ["token:create"] } });
    const one = await create();
    expect(one.status).toBe(201);
    expect((await create()).body.id).toBe(one.body.id);
  });

  it("needs the permission each time: a key that lost it does not see the response", async () => {
    // The row of the refused key follows a second later, and other cases count the rows of their tenant.
    const own = await newTenant();
    const client = await own.backEnd();
    const key = newKey();
    const body = { type: "token", data: "secret", mask: "masked" };
    const create = () => client("POST", "/tokens", withKey(key, { body }));
    expect(await create()).toMatchObject({ status: 201, body: { data: "masked" } });
    await own.manage("PUT", `/applications/${client.id}`, { body: { name: "x", permissions: ["token:read"] } });
    expect(await create()).toMatchObject({ status: 403 });
    await own.manage("DELETE", `/applications/${client.id}`);
    expect(await create()).toMatchObject({ status: 401 });
  });

  it("is scoped to its application: another one may use the same key", async () => {
    const key = newKey();
    const other = await tenant.backEnd();
    const body = { type: "token", data: "x" };
    const mine = await backEnd("POST", "/tokens", withKey(key, { body }));
    const theirs = await other("POST", "/tokens", withKey(key, { body }));
    expect(theirs.status).toBe(201);
    expect(theirs.body.id).not.toBe(mine.body.id);
    const outsider = await (await newTenant()).backEnd();
    const elsewhere = await outsider("POST", "/tokens", withKey(key, { body }));
    expect(elsewhere.status).toBe(201);
    expect(elsewhere.body.id).not.toBe(mine.body.id);
  });

  it("is scoped to its operation and its resource", async () => {
    const key = newKey();
    const token = await backEnd("POST", "/tokens", withKey(key, { body: { type: "token", data: "x" } }));
    const tokenized = await backEnd("POST", "/tokenize", withKey(key, { body: "x" }));
    expect(tokenized.body).not.toBe(token.body.id);
    const other = await tenant.application({ type: "private", permissions: ["token:create"] });
    const first = await tenant.manage("POST", `/applications/${applicationId}/keys`, withKey(key));
    const second = await tenant.manage("POST", `/applications/${other.id}/keys`, withKey(key));
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.id).not.toBe(first.body.id);
    const put = { body: { name: "Put", permissions: ["token:create"] } };
    expect((await tenant.manage("PUT", `/applications/${applicationId}`, withKey(key, put))).body.id).toBe(
      applicationId,
    );
    expect((await tenant.manage("PUT", `/applications/${other.id}`, withKey(key, put))).body.id).toBe(other.id);
  });

  it("is an ordinary request if nothing is created: reads, deletions and detokenizing", async () => {
    const key = newKey();
    const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: 1 } });
    const before = await stored.counts(tenant.id);
    expect(await backEnd("GET", `/tokens/${body.id}`, withKey(key))).toMatchObject({ status: 200 });
    expect(await backEnd("POST", "/detokenize", withKey(key, { body: `{{ ${body.id} }}` }))).toMatchObject({ body: 1 });
    expect(await backEnd("POST", "/detokenize", withKey(key, { body: ["other"] }))).toMatchObject({ body: ["other"] });
    expect(await backEnd("DELETE", `/tokens/${body.id}`, withKey(key))).toMatchObject({ status: 204 });
    expect(await backEnd("DELETE", `/tokens/${body.id}`, withKey(key))).toMatchObject({ status: 404 });
    expect((await stored.counts(tenant.id)).idempotency_keys).toBe(before.idempotency_keys);
  });

  it("is executed once when it arrives many times concurrently", async () => {
    const key = newKey();
    const before = await stored.counts(tenant.id);
    const responses = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        clerk("POST", "/tokens", withKey(key, { body: { type: "token", data: index } })),
      ),
    );
    const served = responses.filter(({ status }) => status === 201);
    expect(served.length).toBeGreaterThan(0);
    expect(new Set(served.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    for (const { status, body } of responses) {
      if (status !== 201) expect({ status, code: body.code }).toEqual({ status: 409, code: "idempotency_in_flight" });
    }
    const after = await stored.counts(tenant.id);
    expect(after.tokens - before.tokens).toBe(1);
    expect(after.audit_logs - before.audit_logs).toBe(served.length);
    const replayed = served.filter(({ headers }) => headers.get("bt-idempotency-replayed") === "true");
    expect(replayed).toHaveLength(served.length - 1);
  });

  it("does not fail the requests it shares a transaction with", async () => {
    const key = newKey();
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        backEnd("POST", "/tokens", {
          body: { type: "token", data: index },
          ...(index % 4 === 0 ? { headers: { "BT-IDEMPOTENCY-KEY": key } } : {}),
        }),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(40).fill(201));
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(31);
  });

  it.each([
    ["an empty key", ""],
    ["a key of 256 characters", "x".repeat(256)],
  ])("is rejected with %s", async (_, key) => {
    const { status, body } = await backEnd("POST", "/tokens", withKey(key, { body: { type: "token", data: 1 } }));
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: ["BT-IDEMPOTENCY-KEY"] });
  });

  it("is sealed in the database: neither key nor response is readable there", async () => {
    const key = newKey();
    await backEnd("POST", "/tokens", withKey(key, { body: { type: "token", data: "needle-in-a-haystack" } }));
    const hex = (text: string) => Buffer.from(text).toString("hex");
    const rows = await stored.textOf(tenant.id, "idempotency_keys");
    expect(rows).not.toContain(hex(key));
    expect(rows).not.toContain(hex("needle-in-a-haystack"));
  });

  it.each(RPC_PROTOCOLS)("works over %s, by metadata", async (protocol) => {
    const key = newKey();
    const data = { kind: { case: "stringValue", value: "x" } } as const;
    const tokens = rpcClient(TokenService, protocol, { key: clerk.key, headers: { "bt-idempotency-key": key } });
    const marks: (string | null)[] = [];
    const onHeader = (headers: Headers) => marks.push(headers.get("bt-idempotency-replayed"));
    const first = await tokens.createToken({ type: "token", data }, { onHeader });
    const numbered = { type: "token", data: { kind: { case: "numberValue", value: 1 } } } as const;
    const second = await tokens.createToken(numbered, { onHeader });
    expect(second).toEqual(first);
    const tokenize = rpcClient(TokenizeService, protocol, { key: clerk.key, headers: { "bt-idempotency-key": key } });
    expect(await tokenize.tokenize({ value: data })).toEqual(await tokenize.tokenize({ value: data }));
    expect(await tokens.createToken({}, { onHeader })).toEqual(first);
    expect(marks).toEqual([null, "true", "true"]);
    const other = rpcClient(TokenService, protocol, { key: clerk.key, headers: { "bt-idempotency-key": newKey() } });
    expect(await failureOf(other.createToken({}))).toMatchObject({ code: "InvalidArgument", fields: ["type", "data"] });
    const change = {
      id: first.id,
      metadata: { kind: { case: "structValue", value: { fields: { a: data } } } },
    } as const;
    const changed = await other.updateToken({ ...change, updateMask: { paths: ["metadata"] } });
    expect(changed.metadata).toEqual({ a: "x" });
    expect(await other.updateToken(change)).toEqual(changed);
    expect(await failureOf(other.updateToken({ ...change, id: "another" }))).toMatchObject({ fields: ["update_mask"] });
  });

  it("is the same request over every protocol", async () => {
    const key = newKey();
    const rest = await backEnd("POST", "/tokens", withKey(key, { body: { type: "token", data: "x" } }));
    for (const protocol of RPC_PROTOCOLS) {
      const tokens = rpcClient(TokenService, protocol, { key: backEnd.key, headers: { "bt-idempotency-key": key } });
      const { id } = await tokens.createToken({ type: "token", data: { kind: { case: "stringValue", value: "x" } } });
      expect(id).toBe(rest.body.id);
    }
  });
});

describe("a request whose duplicate does not finish", () => {
  let server: ServerHere;
  let stored: Stored;
  beforeAll(async () => {
    server = await startServerHere();
    stored = await openStored(server.environment);
  });
  afterAll(async () => {
    await stored[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it("gets 409 and when to retry, on every protocol", async () => {
    // A tenant for each protocol: the requests of one tenant would wait for each other.
    const callers = await Promise.all(
      ["REST", ...RPC_PROTOCOLS].map(async () => {
        const tenant = await newTenant(server.url, server.environment);
        return { tenant, backEnd: await tenant.backEnd() };
      }),
    );
    const headers = { "bt-idempotency-key": newKey() };
    const [rest, ...others] = callers;
    if (!rest) throw new Error("there is no caller over REST");
    const body = { type: "token", data: "x" };
    // Their keys are used and expired: a request takes the row of its key, which another one holds.
    const expired = "update idempotency_keys set expires_at = now() - interval '1 second'";
    for (const { tenant, backEnd } of callers) {
      expect((await backEnd("POST", "/tokens", { body, headers })).status).toBe(201);
      await stored.change(tenant.id, expired);
    }
    const tenantIds = callers.map(({ tenant }) => tenant.id);
    const [response, failures] = await stored.holdingKeys(tenantIds, () =>
      Promise.all([
        rest.backEnd("POST", "/tokens", { body, headers }),
        Promise.all(
          others.map(({ backEnd }, index) => {
            const options = { key: backEnd.key, url: server.url, headers };
            const tokens = rpcClient(TokenService, RPC_PROTOCOLS[index] ?? "gRPC", options);
            return failureOf(
              tokens.createToken({ type: "token", data: { kind: { case: "stringValue", value: "x" } } }),
            );
          }),
        ),
      ]),
    );
    expect(response).toMatchObject({ status: 409, body: { code: "idempotency_in_flight", status: 409 } });
    expect(response.headers.get("retry-after")).toBe("1");
    expect(failures).toHaveLength(RPC_PROTOCOLS.length);
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: "Aborted", reason: "idempotency_in_flight", retryAfter: 1 });
    }
    for (const { tenant, backEnd } of callers) {
      expect(await stored.counts(tenant.id)).toMatchObject({ tokens: 1, idempotency_keys: 1 });
      expect((await backEnd("POST", "/tokens", { body, headers })).status).toBe(201);
      expect(await stored.counts(tenant.id)).toMatchObject({ tokens: 2, idempotency_keys: 1 });
    }
  });
});
