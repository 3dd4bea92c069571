import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createAuthority } from "../../egress/certificates.js";
import { startReceiver } from "../../support/receiver.js";
import { type Replica, startReplica } from "../../support/replica.js";
import type { RestClient } from "../../support/rest.js";
import { restClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { openStored } from "../../support/stored.js";
import { firstTenant, type TestTenant } from "../../support/tenant.js";

type Application = Awaited<ReturnType<TestTenant["backEnd"]>>;

const UUID = /^[0-9a-f-]{36}$/;
const PRELUDE = "const errors = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');";

let server: ServerProcess;
let tenant: TestTenant;
let caller: Application;
let token: string;

/** A server of its own: results are sent to this machine, and it is killed during the test. */
beforeAll(async () => {
  server = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" });
  tenant = await firstTenant(server);
  caller = await tenant.backEnd();
  token = (await caller("POST", "/tokens", { body: { type: "token", data: { coat: "blue" } } })).body.id;
  return async () => server[Symbol.asyncDispose]();
});

async function reactor(code: string): Promise<string> {
  const { status, body } = await tenant.manage("POST", "/reactors", { body: { name: "Later", code } });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

function resultOf(client: RestClient, reactorId: string, requestId: string) {
  return vi.waitFor(
    async () => {
      const response = await client("GET", `/reactors/${reactorId}/results/${requestId}`);
      expect(response.status).not.toBe(404);
      return response;
    },
    { interval: 100 },
  );
}

describe("a reactor that is called asynchronously", () => {
  it("returns 202 with the id of the request, and its result is there once it is ready", async () => {
    const id = await reactor("module.exports = async (req) => ({ raw: req.args.coat, tokenize: { a: 'b' } });");
    const started = await caller("POST", `/reactors/${id}/react-async`, { body: { args: { coat: `{{ ${token} }}` } } });
    expect(started.status).toBe(202);
    expect(started.body).toEqual({ asyncReactorRequestId: expect.stringMatching(UUID) });
    const { status, body } = await resultOf(caller, id, started.body.asyncReactorRequestId);
    expect(status).toBe(200);
    expect(body).toEqual({ raw: { coat: "blue" }, tokens: { a: expect.stringMatching(UUID) } });
  });

  it.each([
    ["react-async", { args: {} }],
    ["react", { args: {}, callback_url: "https://example.com/" }],
  ])("cannot be called by a session, which may end first, and leaves its row in the log: %s", async (path, body) => {
    const id = await reactor("module.exports = async () => ({ raw: 1 });");
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { body: session } = await page("POST", "/sessions");
    const granted = await caller("POST", "/sessions/authorize", {
      body: { nonce: session.nonce, permissions: ["token:use"] },
    });
    expect(granted.status, JSON.stringify(granted.body)).toBe(200);
    const visitor = restClient(server.url, session.session_key);
    expect((await visitor("POST", `/reactors/${id}/${path}`, { body })).status).toBe(403);
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=reactor&entity_id=${id}&size=1`);
    const message = "Reactor refused: later, by a session";
    expect(log.data).toEqual([expect.objectContaining({ operation: "refuse", actor_id: page.id, message })]);
  });

  it.each<[string, string, number, unknown]>([
    [
      "its error",
      `${PRELUDE} module.exports = () => { throw new errors.RateLimitError('slow down'); };`,
      429,
      expect.objectContaining({
        ...{ status: 429, detail: "Rate Limit Exceeded", errors: { error: ["slow down"] } },
        code: "reactor_error",
      }),
    ],
    [
      "its own response",
      `${PRELUDE} module.exports = () => { throw new errors.CustomHttpResponseError({ status: 299, headers: {}, body: { a: 1 } }); };`,
      299,
      { a: 1 },
    ],
  ])("stores %s as a waiting caller would have got it", async (_, code, expected, shown) => {
    const id = await reactor(code);
    const { body: started } = await caller("POST", `/reactors/${id}/react-async`, { body: {} });
    const { status, body } = await resultOf(caller, id, started.asyncReactorRequestId);
    expect({ status, body }).toEqual({ status: expected, body: shown });
  });

  it("deletes its arguments once it has ended", async () => {
    await using stored = await openStored(server.environment);
    const sizeOfRuns = async () => (await stored.textOf(tenant.id, "reactor_runs")).length;
    const id = await reactor("module.exports = (req) => ({ raw: req.args.long.length });");
    const before = await sizeOfRuns();
    const body = { args: { long: "x".repeat(100_000) } };
    const { body: started } = await caller("POST", `/reactors/${id}/react-async`, { body });
    expect((await resultOf(caller, id, started.asyncReactorRequestId)).body).toEqual({ raw: 100_000 });
    expect((await sizeOfRuns()) - before).toBeLessThan(10_000);
  });

  it("stores no verification code of a card that it has tokenized, which a waiting caller sees", async () => {
    const data = { number: "4242424242424242", cvc: "987" };
    const mask = { code: "{{ data.cvc }}", last4: "{{ data.number | last4 }}" };
    const card = { type: "card", data };
    const code = `module.exports = () => ({ tokenize: ${JSON.stringify([card, { ...card, mask }])} });`;
    const id = await reactor(code);
    const { body: waited } = await caller("POST", `/reactors/${id}/react`, { body: {} });
    const { body: started } = await caller("POST", `/reactors/${id}/react-async`, { body: {} });
    const { body: kept } = await resultOf(caller, id, started.asyncReactorRequestId);
    const shown = [waited, kept].map(({ tokens }) => tokens.map((token: { data: unknown }) => token.data));
    const masked = { number: "XXXXXXXXXXXX4242" };
    expect(shown).toEqual([
      [masked, { code: "987", last4: "4242" }],
      [masked, { last4: "4242" }],
    ]);
  });

  it("shows its result to no other application, and none for an unknown request", async () => {
    const id = await reactor("module.exports = () => ({ raw: 1 });");
    const { body } = await caller("POST", `/reactors/${id}/react-async`, { body: {} });
    await resultOf(caller, id, body.asyncReactorRequestId);
    const other = await tenant.backEnd();
    expect((await other("GET", `/reactors/${id}/results/${body.asyncReactorRequestId}`)).status).toBe(404);
    const never = "00000000-0000-4000-8000-000000000000";
    expect((await caller("GET", `/reactors/${id}/results/${never}`)).status).toBe(404);
    expect((await caller("GET", `/reactors/${id}/results/nonsense`)).status).toBe(400);
  });

  it("stores the error of an unknown token as its result, and at once rejects a caller who may use none", async () => {
    const id = await reactor("module.exports = () => ({ raw: 1 });");
    const unknown = { args: { a: "{{ 00000000-0000-4000-8000-000000000000 }}" } };
    const { body: started } = await caller("POST", `/reactors/${id}/react-async`, { body: unknown });
    const { status, body: refusal } = await resultOf(caller, id, started.asyncReactorRequestId);
    expect(status).toBe(400);
    expect(refusal).toMatchObject({ status: 400, code: "validation_failed" });
    const powerless = await tenant.application({ type: "private", permissions: ["token:read"] });
    const body = { args: { a: `{{ ${token} }}` } };
    expect((await powerless("POST", `/reactors/${id}/react-async`, { body })).status).toBe(403);
  });
});

describe("a reactor that is called with a callback", () => {
  it.each(["http://example.com/", "ftp://example.com/", "https://10.0.0.1/x", "nonsense"])(
    "refuses %s as its address",
    async (callbackUrl) => {
      const id = await reactor("module.exports = () => ({ raw: 1 });");
      const { status, body } = await caller("POST", `/reactors/${id}/react`, {
        body: { args: {}, callback_url: callbackUrl },
      });
      expect(status).toBe(400);
      expect(Object.keys(body.errors)).toEqual(["callback_url"]);
    },
  );
});

describe("queued runs", () => {
  it("survive the server that accepted them, and results are sent until they are accepted", async () => {
    const authority = await createAuthority();
    await using receiver = await startReceiver([503], await authority.issue([], ["127.0.0.1"]));
    const own = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" }, { "authority.pem": authority.pem });
    let second: Replica | undefined;
    try {
      const first = await firstTenant(own);
      const client = await first.backEnd();
      const code =
        "module.exports = async () => { await new Promise((done) => setTimeout(done, 1500)); return { raw: 'late' }; };";
      const { body: made } = await first.manage("POST", "/reactors", { body: { name: "Slow", code } });
      const ids: string[] = [];
      for (let i = 0; i < 3; i += 1) {
        ids.push((await client("POST", `/reactors/${made.id}/react-async`, { body: {} })).body.asyncReactorRequestId);
      }
      const callback = await client("POST", `/reactors/${made.id}/react`, {
        body: { args: {}, callback_url: `${receiver.url}/done?order=7` },
      });
      expect({ status: callback.status, body: callback.body }).toEqual({ status: 202, body: "" });
      await own.stop();
      expect(receiver.received).toEqual([]);

      second = await startReplica({
        ...own.environment,
        CLOAKROOM_PORT: "0",
        CLOAKROOM_ADMIN_PORT: "0",
        NODE_EXTRA_CA_CERTS: join(dirname(own.logFile), "authority.pem"),
      });
      const again = restClient(second.url, client.key);
      for (const id of ids) expect((await resultOf(again, made.id, id)).body).toEqual({ raw: "late" });
      await vi.waitFor(() => expect(receiver.received).toHaveLength(2), { interval: 200 });
      const [line = "{}"] = second.said().match(/^.*reactor callback failed.*$/m) ?? [];
      expect(JSON.parse(line)).toMatchObject({
        ...{ level: 40, tenant_id: first.id, job: "reactor runs", cause: "returned 503", attempt: 1 },
        next_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/),
      });
      for (const { method, path, headers, body } of receiver.received) {
        expect({ method, path, body }).toEqual({ method: "POST", path: "/done?order=7", body: '{"raw":"late"}' });
        expect(headers["content-type"]).toMatch(/^application\/json/);
      }
    } finally {
      await second?.stop();
      await own[Symbol.asyncDispose]();
    }
  });
});
