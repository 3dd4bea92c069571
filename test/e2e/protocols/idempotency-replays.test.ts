import { toJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TokenizeService, TokenSchema, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { openShop, PAYING } from "../../support/payments.js";
import type { RestClient, RestRequest, RestResponse } from "../../support/rest.js";
import { restClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };
const NUMBER = "4242424242424242";
const ALL = ["token:create", "token:read", "token:update", "token:delete", "token:use"];
const CARD = { type: "card", data: { number: NUMBER, expiration_month: 12, expiration_year: 2030, cvc: "987" } };

type Application = RestClient & { readonly id: string; readonly key: string };

let tenant: TestTenant;
let stored: Stored;
let keys = 0;
beforeAll(async () => {
  tenant = await newTenant();
  stored = await openStored();
});
afterAll(() => stored?.[Symbol.asyncDispose]());

const newKey = () => `replay-${process.pid}-${++keys}-${crypto.randomUUID()}`;
const withKey = (key: string, request: RestRequest = {}): RestRequest => ({
  ...request,
  headers: { ...request.headers, "BT-IDEMPOTENCY-KEY": key },
});
const revealing = (container = "/"): Promise<Application> =>
  tenant.application({ type: "private", rules: [{ priority: 1, container, transform: "reveal", permissions: ALL }] });
const setRules = async ({ id }: Application, rules: readonly object[], permissions: readonly string[] = []) => {
  const { status } = await tenant.manage("PUT", `/applications/${id}`, { body: { name: "N", rules, permissions } });
  expect(status).toBe(200);
};
const rule = (transform: string, container = "/", permissions = ALL, priority = 1) => ({
  ...{ priority, container, transform, permissions },
});
const secondKeyOf = async ({ id }: Application) => {
  const { body } = await tenant.manage("POST", `/applications/${id}/keys`);
  return restClient(tenant.url, body.key);
};
/** The logged operations on an entity, newest first. */
const logOf = async (id: string): Promise<string[]> => {
  const { body } = await tenant.manage("GET", `/logs?entity_id=${encodeURIComponent(id)}&size=20`);
  return body.data.map(({ operation }: { operation: string }) => operation);
};
const textOf = ({ body }: RestResponse) => withoutIds(body);

describe("a replayed token", () => {
  it("shows nothing of its value once it is deleted, to any key and with any body", async () => {
    const application = await revealing();
    const key = newKey();
    const first = await application("POST", "/tokens", withKey(key, { body: CARD }));
    const { id } = first.body;
    expect((await application("DELETE", `/tokens/${id}`)).status).toBe(204);
    await setRules(application, [rule("redact")]);
    const other = await secondKeyOf(application);
    for (const request of [{ body: CARD }, { raw: "{" }, { body: { type: "nope" } }]) {
      const again = await other("POST", "/tokens", withKey(key, request));
      expect(again).toMatchObject({ status: 201, body: { id, type: "card" } });
      expect(again.headers.get("bt-idempotency-replayed")).toBe("true");
      expect(again.headers.get("location")).toBe(first.headers.get("location"));
      const { tenant_id, type, containers, created_by, created_at, _extras } = first.body;
      expect(again.body).toEqual({ id, tenant_id, type, containers, created_by, created_at, _extras });
    }
    expect(await logOf(id)).toEqual(["replay", "replay", "replay", "delete", "create"]);
  });

  it("is masked even if the rule reveals", async () => {
    const application = await revealing();
    const key = newKey();
    const { id } = (await application("POST", "/tokens", withKey(key, { body: CARD }))).body;
    const again = await application("POST", "/tokens", withKey(key, { body: CARD }));
    expect(again.body).toMatchObject({ id, data: { number: "XXXXXXXXXXXX4242" }, card: { last4: "4242" } });
    expect(textOf(again)).not.toContain(NUMBER);
    expect(textOf(again)).not.toContain("987");
    expect(await logOf(id)).toEqual(["replay", "create"]);
  });

  it("is redacted once the rule says redact", async () => {
    const application = await revealing();
    const key = newKey();
    const { id } = (await application("POST", "/tokens", withKey(key, { body: CARD }))).body;
    await setRules(application, [rule("redact")]);
    const again = await application("POST", "/tokens", withKey(key, { body: CARD }));
    expect(again).toMatchObject({ status: 201, body: { id } });
    expect(again.body).not.toHaveProperty("data");
    expect(again.body).not.toHaveProperty("card");
    expect(textOf(again)).not.toContain("4242");
  });

  it("is refused without the permission for its containers, and the refusal is logged", async () => {
    const application = await revealing();
    const key = newKey();
    const { id } = (await application("POST", "/tokens", withKey(key, { body: { ...CARD, containers: ["/a/"] } })))
      .body;
    await setRules(application, [rule("reveal", "/b/")]);
    for (const request of [{ body: CARD }, { raw: "{" }]) {
      const again = await application("POST", "/tokens", withKey(key, request));
      expect(again).toMatchObject({ status: 403, body: { code: "permission_denied" } });
      expect(again.headers.get("bt-idempotency-replayed")).toBeNull();
    }
    expect(await logOf(id)).toEqual(["refuse", "refuse", "create"]);
    // Also if the token is gone: it was in that container.
    await setRules(application, [rule("reveal", "/")]);
    await application("DELETE", `/tokens/${id}`);
    await setRules(application, [rule("reveal", "/b/")]);
    expect((await application("POST", "/tokens", withKey(key, { body: CARD }))).status).toBe(403);
  });

  it("is refused once it was moved to a container where the caller may not create", async () => {
    const owner = await revealing();
    const application = await revealing("/a/");
    const key = newKey();
    const { id } = (await application("POST", "/tokens", withKey(key, { body: { ...CARD, containers: ["/a/"] } })))
      .body;
    const moved = { headers: MERGE_PATCH, body: { containers: ["/secret/"] } };
    expect((await owner("PATCH", `/tokens/${id}`, moved)).status).toBe(200);
    expect((await application("POST", "/tokens", withKey(key, { body: CARD }))).status).toBe(403);
  });

  it("shows later changes by others only to callers that may read it", async () => {
    const owner = await revealing();
    const writer = await tenant.application({ type: "private", permissions: ["token:create"] });
    const key = newKey();
    const body = { type: "token", data: "mine", mask: "{{ data }}" };
    const first = await writer("POST", "/tokens", withKey(key, { body }));
    expect(first.body.data).toBe("mine");
    expect((await writer("POST", "/tokens", withKey(key, { body }))).body).toEqual(first.body);
    const { id } = first.body;
    const patch = { headers: MERGE_PATCH, body: { data: "theirs", metadata: { note: "theirs" } } };
    expect((await owner("PATCH", `/tokens/${id}`, patch)).status).toBe(200);
    const again = await writer("POST", "/tokens", withKey(key, { body }));
    expect(again).toMatchObject({ status: 201, body: { id, type: "token" } });
    expect(textOf(again)).not.toContain("theirs");
    expect(again.body).not.toHaveProperty("data");
    const clerk = await tenant.application({ type: "private", permissions: ["token:create", "token:read"] });
    const own = newKey();
    const made = await clerk("POST", "/tokens", withKey(own, { body }));
    await owner("PATCH", `/tokens/${made.body.id}`, patch);
    expect((await clerk("POST", "/tokens", withKey(own, { body }))).body).toMatchObject({
      ...{ id: made.body.id, data: "theirs", metadata: { note: "theirs" } },
    });
  });

  it("is not another token that was given its id since", async () => {
    const owner = await revealing();
    const writer = await tenant.application({ type: "private", permissions: ["token:create"] });
    const key = newKey();
    const mine = { type: "token", id: `taken-${key}`, data: "mine", mask: "{{ data }}" };
    const first = await writer("POST", "/tokens", withKey(key, { body: mine }));
    expect((await owner("DELETE", `/tokens/${mine.id}`)).status).toBe(204);
    expect((await owner("POST", "/tokens", { body: { ...mine, data: "theirs" } })).status).toBe(201);
    const again = await writer("POST", "/tokens", withKey(key, { body: mine }));
    expect(again.body).toMatchObject({ id: mine.id, created_at: first.body.created_at });
    expect(again.body).not.toHaveProperty("data");
  });

  it("is shown as a read would show it, if it was deduplicated onto an older one", async () => {
    const owner = await revealing();
    const clerk = await tenant.application({
      type: "private",
      rules: [rule("mask", "/mine/", ["token:create"], 1), rule("mask", "/theirs/", ["token:read"], 2)],
    });
    const body = { type: "token", data: `same ${newKey()}`, mask: "{{ data }}", deduplicate_token: true };
    const { id } = (await owner("POST", "/tokens", { body: { ...body, containers: ["/theirs/"] } })).body;
    const key = newKey();
    const mine = { body: { ...body, containers: ["/mine/"] } };
    const first = await clerk("POST", "/tokens", withKey(key, mine));
    expect(first).toMatchObject({ status: 201, body: { id, data: body.data, _extras: { deduplicated: true } } });
    expect((await clerk("POST", "/tokens", withKey(key, mine))).body).toEqual(first.body);
    await setRules(clerk, [rule("mask", "/mine/", ["token:create"])]);
    const again = await clerk("POST", "/tokens", withKey(key, mine));
    expect(again).toMatchObject({ status: 201, body: { id, _extras: { deduplicated: true } } });
    expect(again.body).not.toHaveProperty("data");
  });

  it("is masked or redacted by the permission to change it after a PATCH, and refused without that", async () => {
    const application = await revealing();
    const { id } = (await application("POST", "/tokens", { body: CARD })).body;
    const key = newKey();
    const patch = () =>
      application("PATCH", `/tokens/${id}`, withKey(key, { headers: MERGE_PATCH, body: { metadata: { a: "1" } } }));
    expect((await patch()).status).toBe(200);
    const again = await patch();
    expect(again.body).toMatchObject({ id, metadata: { a: "1" }, data: { number: "XXXXXXXXXXXX4242" } });
    expect(textOf(again)).not.toContain(NUMBER);
    await setRules(application, [rule("redact")]);
    expect(textOf(await patch())).not.toContain("4242");
    await setRules(application, [rule("reveal", "/elsewhere/")]);
    expect((await patch()).status).toBe(403);
    await setRules(application, [rule("reveal")]);
    await application("DELETE", `/tokens/${id}`);
    const gone = await patch();
    expect(gone).toMatchObject({ status: 200, body: { id, type: "card" } });
    expect(textOf(gone)).not.toContain("4242");
    expect((await logOf(id)).slice(0, 6)).toEqual(["replay", "delete", "refuse", "replay", "replay", "update"]);
  });

  it("is read again wherever it appears in the response to tokenize", async () => {
    const application = await revealing();
    const key = newKey();
    const body = { people: [{ card: CARD, name: "Ada" }], none: null, _extras: { deduplicated: "x" }, empty: {} };
    const first = (await application("POST", "/tokenize", withKey(key, { body }))).body;
    const card = first.people[0].card.id;
    const again = async (request: RestRequest = { body }) => application("POST", "/tokenize", withKey(key, request));
    const masked = await again();
    expect(masked.status).toBe(200);
    expect(masked.body).toMatchObject({
      ...{ none: null, empty: {}, _extras: first._extras },
      people: [{ name: first.people[0].name, card: { id: card, data: { number: "XXXXXXXXXXXX4242" } } }],
    });
    expect(textOf(masked)).not.toContain(NUMBER);
    await setRules(application, [rule("redact")]);
    expect(textOf(await again({ raw: "{" }))).not.toContain("4242");
    await setRules(application, [rule("reveal")]);
    expect((await application("DELETE", `/tokens/${card}`)).status).toBe(204);
    const gone = await again();
    expect(gone.body.people[0].card).toMatchObject({ id: card, type: "card" });
    expect(textOf(gone)).not.toContain("4242");
    expect(await logOf(card)).toEqual(["replay", "delete", "replay", "replay", "create"]);
    // One of its tokens may no longer be created: nothing is shown, and no other token is reported as replayed.
    await setRules(application, [rule("reveal", "/pci/high/")]);
    const before = await stored.counts(tenant.id);
    expect((await again()).status).toBe(403);
    const after = await stored.counts(tenant.id);
    const refusals = (await tenant.manage("GET", "/logs?size=5")).body.data.filter(
      ({ operation }: { operation: string }) => operation === "refuse",
    );
    expect(refusals.length).toBe(after.audit_logs - before.audit_logs);
  });

  it("keeps nothing of the value in the database", async () => {
    const own = await newTenant();
    const application = await own.backEnd();
    const body = { ...CARD, metadata: { needle: "haystack-1" }, mask: "{{ data.number | reveal_last: 4 }}" };
    const first = await application("POST", "/tokens", withKey(newKey(), { body }));
    await application("POST", "/tokenize", withKey(newKey(), { body: { a: body } }));
    const rows = await stored.textOf(own.id, "idempotency_keys");
    // Sealed, so its length shows: the whole response has some 700 bytes, the stored one less than 300.
    expect(rows.length / 2).toBeLessThan(1_200);
    expect(first.status).toBe(201);
  });

  it.each(RPC_PROTOCOLS)("is masked, redacted and refused alike over %s", async (protocol) => {
    const application = await revealing();
    const headers = { "bt-idempotency-key": newKey() };
    const tokens = rpcClient(TokenService, protocol, { key: application.key, headers });
    const tokenize = rpcClient(TokenizeService, protocol, { key: application.key, headers });
    const text = (value: string) => ({ kind: { case: "stringValue", value } }) as const;
    const data = { kind: { case: "structValue", value: { fields: { number: text(NUMBER) } } } } as const;
    const seen: (string | null)[] = [];
    const onHeader = (responseHeaders: Headers) => seen.push(responseHeaders.get("bt-idempotency-replayed"));
    const { id } = await tokens.createToken({ type: "card", data });
    await tokenize.tokenize({ value: data });
    const asText = (message: object) =>
      JSON.stringify(message, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    const again = await tokens.createToken({}, { onHeader });
    expect(again.id).toBe(id);
    expect(asText(again)).toContain("XXXXXXXXXXXX4242");
    expect(asText(again)).not.toContain(NUMBER);
    await tokenize.tokenize({}, { onHeader });
    await setRules(application, [rule("redact")]);
    const redacted = await tokens.createToken({}, { onHeader });
    expect(withoutIds(toJson(TokenSchema, redacted))).not.toContain("4242");
    expect(seen).toEqual(["true", "true", "true"]);
    await setRules(application, [rule("reveal", "/elsewhere/")]);
    expect(await failureOf(tokens.createToken({}))).toMatchObject({ code: "PermissionDenied" });
    expect(await failureOf(tokenize.tokenize({}))).toMatchObject({ code: "PermissionDenied" });
  });
});

describe("a secret that was shown once", () => {
  it("is replayed only to the key that created the application", async () => {
    const { body: maker } = await tenant.manage("POST", "/applications", {
      body: { name: "M", type: "management", permissions: ["application:create", "application:read"] },
    });
    const mine = restClient(tenant.url, maker.key);
    const other = await secondKeyOf(Object.assign(mine, { id: maker.id, key: maker.key }));
    const key = newKey();
    const request = withKey(key, { body: { name: "New", type: "private", permissions: ["token:read"] } });
    const first = await mine("POST", "/applications", request);
    expect(first.body.key).toMatch(/^key_/);
    expect((await mine("POST", "/applications", request)).body).toEqual(first.body);
    const { key: _, ...rest } = first.body;
    for (const repeat of [request, withKey(key, { raw: "{" })]) {
      const again = await other("POST", "/applications", repeat);
      expect({ status: again.status, body: again.body }).toEqual({ status: 201, body: rest });
    }
    expect(await logOf(first.body.id)).toEqual(["replay", "replay", "replay", "create"]);
  });

  it("is replayed only to the key that created it, if it is a key", async () => {
    const target = await tenant.application({ type: "private", permissions: ["token:read"] });
    const { body: managing } = await tenant.manage("GET", "/applications/key");
    const other = await secondKeyOf(Object.assign(tenant.manage, { id: String(managing.id), key: "" }));
    const path = `/applications/${target.id}/keys`;
    const key = newKey();
    const first = await tenant.manage("POST", path, withKey(key));
    expect((await tenant.manage("POST", path, withKey(key))).body).toEqual(first.body);
    const { key: _, ...rest } = first.body;
    expect(await other("POST", path, withKey(key))).toMatchObject({ status: 201, body: rest });
    expect((await other("POST", path, withKey(key))).body).not.toHaveProperty("key");
  });

  it("is never replayed if it is a session's: each request creates one", async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const key = newKey();
    const sessions = [await page("POST", "/sessions", withKey(key)), await page("POST", "/sessions", withKey(key))];
    expect(sessions.map(({ status }) => status)).toEqual([201, 201]);
    expect(sessions.map(({ headers }) => headers.get("bt-idempotency-replayed"))).toEqual([null, null]);
    expect(new Set(sessions.map(({ body }) => body.session_key)).size).toBe(2);
    expect(new Set(sessions.map(({ body }) => body.nonce)).size).toBe(2);
  });

  it("is not shown if the database's owner attributes the request to another key", async () => {
    // Its only requests with a key are these two.
    const own = await newTenant();
    const { body: maker } = await own.manage("POST", "/applications", {
      body: { name: "M", type: "management", permissions: ["application:create"] },
    });
    const mine = restClient(own.url, maker.key);
    const { body: second } = await own.manage("POST", `/applications/${maker.id}/keys`);
    const other = restClient(own.url, second.key);
    const key = newKey();
    const request = (name: string) =>
      withKey(name, { body: { name: "New", type: "private", permissions: ["token:read"] } });
    await mine("POST", "/applications", request(key));
    const theirs = newKey();
    await other("POST", "/applications", request(theirs));
    await stored.change(
      own.id,
      "update idempotency_keys a set maker = b.maker from idempotency_keys b where a.key_hash <> b.key_hash",
    );
    expect((await other("POST", "/applications", request(key))).body).not.toHaveProperty("key");
    await stored.change(own.id, "update idempotency_keys set maker = '\\x'");
    expect((await mine("POST", "/applications", request(key))).body).not.toHaveProperty("key");
  });
});

describe("a replayed payment", () => {
  it("still needs the permission for its token, and leaves its row", async () => {
    const shop = await openShop();
    const { body: application } = await shop.backEnd("GET", "/applications/key");
    const token = await shop.card();
    const headers = { "BT-IDEMPOTENCY-KEY": newKey() };
    const body = { amount: 700, currency: "USD", connection_id: shop.connectionId, token, intent: "capture" };
    const pay = (request: RestRequest = { body }) =>
      shop.backEnd("POST", "/orchestration/transactions", { ...request, headers });
    const first = await pay();
    expect(first.status).toBe(201);
    const refunds = `/orchestration/transactions/${first.body.id}/refunds`;
    const refund = () => shop.backEnd("POST", refunds, { body: { amount: 10 }, headers });
    expect((await refund()).status).toBeLessThan(300);
    for (const again of [await pay(), await pay({ raw: "{" }), await refund()]) {
      expect(again.headers.get("bt-idempotency-replayed")).toBe("true");
    }
    expect((await pay()).body).toEqual(first.body);
    const change = (definition: object) =>
      shop.tenant.manage("PUT", `/applications/${application.id}`, { body: { name: "N", ...definition } });
    await change({ rules: [{ priority: 1, container: "/elsewhere/", transform: "mask", permissions: ["token:use"] }] });
    for (const again of [await pay(), await pay({ raw: "{" }), await refund()]) {
      expect(again).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    }
    await change({ permissions: PAYING });
    expect((await pay()).status).toBe(201);
    const { body: logs } = await shop.tenant.manage("GET", `/logs?entity_id=${first.body.id}&size=9`);
    const operations = logs.data.map(({ operation }: { operation: string }) => operation);
    expect(operations.slice(0, 4)).toEqual(["replay", "refuse", "refuse", "refuse"]);
  });
});
