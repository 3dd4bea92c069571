import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };

describe("deduplication", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  let values = 0;
  let value: string;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });
  beforeEach(async () => {
    values += 1;
    value = `value ${values}`;
    await set({ deduplicate_tokens: "false", fingerprint_tokens: "false" });
  });
  const set = (settings: object) => tenant.manage("PUT", "/tenants/self", { body: { name: "Test", settings } });
  const create = (more: object = {}, client = backEnd) =>
    client("POST", "/tokens", { body: { type: "token", data: value, ...more } });
  const patch = (id: string, body: object) => backEnd("PATCH", `/tokens/${id}`, { body, headers: MERGE_PATCH });
  const countOf = async (type: string): Promise<number> =>
    (await newReport()).token_report.metrics_by_type[type]?.count ?? 0;
  const newReport = async () => (await tenant.manage("GET", "/tenants/self/reports/usage")).body;

  it("creates one token from 200 concurrent requests", async () => {
    const before = await countOf("token");
    const responses = await Promise.all(Array.from({ length: 200 }, () => create({ deduplicate_token: true })));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(1);
    expect(responses.filter(({ body }) => !body._extras.deduplicated)).toHaveLength(1);
    expect(await countOf("token")).toBe(before + 1);
  });

  it("is the tenant's setting, which a request overrides both ways", async () => {
    const first = await create({ deduplicate_token: true });
    expect(first.body).toMatchObject({ _extras: { deduplicated: false }, fingerprint: expect.any(String) });
    expect(first.body).not.toHaveProperty("deduplicate_token");
    expect((await create()).body).toMatchObject({ _extras: { deduplicated: false } });
    await set({ deduplicate_tokens: "true" });
    expect((await create()).body).toMatchObject({ id: first.body.id, _extras: { deduplicated: true } });
    expect((await create({ deduplicate_token: null })).body.id).toBe(first.body.id);
    expect((await create({ deduplicate_token: false })).body.id).not.toBe(first.body.id);
  });

  it("shows fingerprints only if they are on", async () => {
    expect((await create()).body).not.toHaveProperty("fingerprint");
    const own = await create({ fingerprint_expression: "{{ data }}" });
    expect(own.body.fingerprint).toEqual(expect.any(String));
    await set({ fingerprint_tokens: "true" });
    expect((await create({ data: value })).body.fingerprint).toBe(
      (await create({ fingerprint_expression: "{{ data | stringify }}" })).body.fingerprint,
    );
  });

  it("keeps types, expressions and tenants apart", async () => {
    const token = await create({ data: "4242424242424242", deduplicate_token: true });
    const number = await create({ type: "card_number", data: "4242424242424242", deduplicate_token: true });
    expect(number.body).toMatchObject({ _extras: { deduplicated: false } });
    expect(number.body.fingerprint).not.toBe(token.body.fingerprint);
    const outsider = await (await newTenant()).backEnd();
    const foreign = await create({ data: "4242424242424242", deduplicate_token: true }, outsider);
    expect(foreign.body).toMatchObject({ _extras: { deduplicated: false } });
    expect(foreign.body.fingerprint).not.toBe(token.body.fingerprint);
    const card = { number: "4242424242424242" };
    const one = await create({ type: "card", data: { ...card, expiration_year: 2030 }, deduplicate_token: true });
    const two = await create({ type: "card", data: { ...card, expiration_year: 2031 }, deduplicate_token: true });
    expect(two.body).toMatchObject({ id: one.body.id, _extras: { deduplicated: true } });
    expect(two.body.data).toEqual({ number: "XXXXXXXXXXXX4242", expiration_year: 2030 });
  });

  it("does not deduplicate values for which the expression is an empty text", async () => {
    const missing = { fingerprint_expression: "{{ data.customer }}", data: { customer: "", value } };
    const refused = { status: 400, body: { errors: { fingerprint_expression: [expect.any(String)] } } };
    const tokenized = { type: "token", deduplicate_token: true, ...missing };
    expect(await create({ deduplicate_token: true, ...missing })).toMatchObject(refused);
    expect(await backEnd("POST", "/tokenize", { body: { first: tokenized } })).toMatchObject({
      status: 400,
      body: { errors: { "first.fingerprint_expression": [expect.any(String)] } },
    });
    const plain = await create(missing);
    expect(plain).toMatchObject({ status: 201 });
    expect(await patch(plain.body.id, { deduplicate_token: true })).toMatchObject(refused);
    const named = { deduplicate_token: true, data: { customer: "c-1" } };
    expect(await patch(plain.body.id, named)).toMatchObject({ status: 200 });
  });

  it("leaves the older token unchanged", async () => {
    const first = await create({ deduplicate_token: true, metadata: { a: "1" }, containers: ["/one/"] });
    const second = await create({
      deduplicate_token: true,
      metadata: { b: "2" },
      containers: ["/two/"],
      id: `own-${values}`,
    });
    expect(second.body).toMatchObject({ id: first.body.id, metadata: { a: "1" }, containers: ["/one/"] });
    expect(second.body).not.toHaveProperty("modified_at");
    expect(await backEnd("GET", `/tokens/own-${values}`)).toMatchObject({ status: 404 });
  });

  it("shows a caller who may not read only that the token exists", async () => {
    const made = await create({ deduplicate_token: true, metadata: { a: "1" }, search_indexes: ["{{ data }}"] });
    const writer = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { status, body } = await create({ deduplicate_token: true }, writer);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: made.body.id,
      tenant_id: tenant.id,
      type: "token",
      fingerprint: made.body.fingerprint,
      containers: ["/general/high/"],
      _extras: { deduplicated: true },
    });
    const tokenized = await writer("POST", "/tokenize", {
      body: { item: { type: "token", data: value, deduplicate_token: true } },
    });
    expect(tokenized.body).toEqual({ item: body });
  });

  it("covers duplicates within one tokenize request", async () => {
    await set({ deduplicate_tokens: "true" });
    const before = await countOf("token");
    const { status, body } = await backEnd("POST", "/tokenize", { body: [value, value, { deep: value }, `${value}!`] });
    expect(status).toBe(200);
    expect(new Set([body[0], body[1], body[2].deep]).size).toBe(1);
    expect(body[3]).not.toBe(body[0]);
    expect(await countOf("token")).toBe(before + 2);
    expect((await create()).body).toMatchObject({ id: body[0], _extras: { deduplicated: true } });
  });

  it("returns the other token on PATCH, and leaves the patched one unchanged", async () => {
    const first = await create({ deduplicate_token: true, metadata: { first: "1" } });
    const second = await create({ deduplicate_token: true, data: `${value} other` });
    const unchanged = await backEnd("GET", `/tokens/${second.body.id}`);
    const response = await patch(second.body.id, { data: value, metadata: { lost: "1" } });
    expect(response).toMatchObject({ status: 200, body: { id: first.body.id, metadata: { first: "1" } } });
    expect(response.body).not.toHaveProperty("data");
    expect((await backEnd("GET", `/tokens/${second.body.id}`)).body).toEqual(unchanged.body);
    expect(await patch(first.body.id, { data: value, metadata: { own: "1" } })).toMatchObject({
      body: { id: first.body.id, metadata: { first: "1", own: "1" } },
    });
  });

  it("masks the existing card in responses, also for a caller who may read it in the clear", async () => {
    const data = { number: "5555555555554444", cvc: "321" };
    const masked = { number: "XXXXXXXXXXXX4444" };
    const first = await create({ type: "card", data, deduplicate_token: true });
    const second = await create({ type: "card", data: { ...data, cvc: "999" }, deduplicate_token: true });
    const other = await create({ type: "card", data: { number: "4000056655665556" }, deduplicate_token: true });
    const patched = await patch(other.body.id, { data });
    const body = [{ type: "card", data, deduplicate_token: true }];
    const [tokenized] = (await backEnd("POST", "/tokenize", { body })).body;
    for (const response of [second.body, patched.body, tokenized]) {
      expect(response.id).toBe(first.body.id);
      expect(response.data).toEqual(masked);
    }
    expect((await backEnd("GET", `/tokens/${first.body.id}`)).body.data).toEqual(data);
  });

  it("can be switched on and off for a token", async () => {
    const { id } = (await create()).body;
    await patch(id, { deduplicate_token: true });
    expect((await create({ deduplicate_token: true })).body).toMatchObject({ id, _extras: { deduplicated: true } });
    await patch(id, { deduplicate_token: false });
    expect((await create({ deduplicate_token: true })).body).toMatchObject({ _extras: { deduplicated: false } });
  });

  it("ignores a deleted token", async () => {
    const { id } = (await create({ deduplicate_token: true })).body;
    await backEnd("DELETE", `/tokens/${id}`);
    const again = await create({ deduplicate_token: true });
    expect(again.body).toMatchObject({ _extras: { deduplicated: false } });
    expect(again.body.id).not.toBe(id);
  });
});
