import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };
const NUMBER = "4242424242424242";
const CARD = { number: NUMBER, expiration_month: 12, expiration_year: 2030, cvc: "987" };

/** What a caller who may change tokens, and not see them, can find out by changing them. */
describe("a caller who may not see a value", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  let page: RestClient;
  let clerk: RestClient;
  let blind: RestClient;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    page = await tenant.application({ type: "public", permissions: ["token:create", "token:update"] });
    clerk = await tenant.application({
      type: "private",
      permissions: ["token:create", "token:update", "token:read", "token:search"],
    });
    const permissions = ["token:create", "token:update", "token:read", "token:search"];
    blind = await tenant.application({
      type: "private",
      rules: [{ priority: 1, container: "/", transform: "redact", permissions }],
    });
  });
  const make = async (body: object, client = backEnd): Promise<string> => {
    const made = await client("POST", "/tokens", { body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body.id;
  };
  const card = (more: object = {}) => make({ type: "card", data: CARD, ...more });
  const patch = (client: RestClient, id: string, body: object) =>
    client("PATCH", `/tokens/${id}`, { headers: MERGE_PATCH, body });
  /** Everything that a client can see of a token, in all ways. */
  const everythingOf = async (client: RestClient, id: string): Promise<string> => {
    const responses = [
      await client("GET", `/tokens/${id}`),
      await client("GET", `/tokens?id=${id}`),
      await client("POST", "/tokens/search", { body: { query: `id:${id}` } }),
      await client("POST", "/detokenize", { body: [`{{ ${id} }}`, `{{ token: ${id} }}`] }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    return JSON.stringify(responses.map(({ body }) => body));
  };

  it.each([
    ["all of it", "{{ data }}"],
    ["a part of it", { digits: "{{ data.number }}", code: "{{ data.cvc }}" }],
    ["a part of a part", { number: "{{ data.number | reveal_last: 15 }}" }],
  ])("does not see %s through a mask of its own, in the response or later", async (_, mask) => {
    for (const client of [page, blind]) {
      const id = await card();
      const { status, body } = await patch(client, id, { mask });
      expect(status).toBe(200);
      expect(body.mask).toMatchObject(typeof mask === "string" ? {} : mask);
      expect(body).not.toHaveProperty("data");
      // Ids and times may contain the three digits of the code.
      expect(JSON.stringify(body)).not.toMatch(/4242424242424242|X242424242424242|\b987\b/);
      expect((await patch(client, id, {})).body).not.toHaveProperty("data");
      expect((await patch(client, id, { mask })).body).not.toHaveProperty("data");
      for (const reader of [clerk, blind])
        expect(await everythingOf(reader, id)).not.toMatch(/4242424242424242|X242424242424242|"987"/);
      expect((await backEnd("GET", `/tokens/${id}`)).body).toMatchObject({ data: CARD });
    }
  });

  it("learns no digit from a fingerprint of its own expression", async () => {
    for (const client of [page, blind]) {
      const id = await card();
      const literal = await patch(client, id, { fingerprint_expression: "4" });
      expect(literal.body.fingerprint).toEqual(expect.any(String));
      const { status, body } = await patch(client, id, { fingerprint_expression: "{{ data.number | slice: 0 }}" });
      expect(status).toBe(200);
      expect(body).not.toHaveProperty("fingerprint");
      expect(body.fingerprint_expression).toBe("{{ data.number | slice: 0 }}");
      expect((await clerk("GET", `/tokens/${id}`)).body).not.toHaveProperty("fingerprint");
      expect(await patch(client, id, { deduplicate_token: true })).toMatchObject({ status: 200, body: { id } });
      const twin = { type: "card", data: { number: NUMBER }, fingerprint_expression: "4", deduplicate_token: true };
      const folded = await client("POST", "/tokens", { body: twin });
      expect(folded.body.id).not.toBe(id);
      // Nor by having it deduplicated onto a token with a known value.
      expect(await patch(client, id, { metadata: { a: "b" } })).toMatchObject({ status: 200, body: { id } });
      await backEnd("DELETE", `/tokens/${folded.body.id}`);
    }
  });

  it("cannot create a fingerprint that did not exist", async () => {
    const id = await card();
    const { status, body } = await patch(page, id, { deduplicate_token: true });
    expect(status).toBe(200);
    expect(body).not.toHaveProperty("fingerprint");
    expect((await patch(backEnd, id, { deduplicate_token: true })).body).toHaveProperty("fingerprint");
  });

  it("finds no token by a search index of its own, and learns no result", async () => {
    const found = async (query: string) =>
      (await clerk("POST", "/tokens/search", { body: { query } })).body.pagination.total_items;
    for (const client of [page, blind]) {
      const id = await card({ search_indexes: ["{{ data.expiration_year }}"] });
      expect(await found("data:2030")).toBe(1);
      const indexes = ["{{ data.number | slice: 0 }}", "{{ data.number | remove: '4' | remove: '2' }}"];
      const { status, body } = await patch(client, id, { search_indexes: indexes });
      expect({ status, indexes: body.search_indexes }).toEqual({ status: 200, indexes });
      expect([await found("data:4"), await found("data:2030")]).toEqual([0, 0]);
      expect((await patch(backEnd, id, { search_indexes: ["{{ data.number | slice: 0 }}"] })).status).toBe(200);
      expect(await found("data:4")).toBe(1);
      await backEnd("DELETE", `/tokens/${id}`);
    }
  });

  it("does not restore a type's mask and indexes that were removed", async () => {
    const hidden = { mask: "hidden", search_indexes: ["known"], fingerprint_expression: "own" };
    const id = await make({ type: "social_security_number", data: "123-45-6789", ...hidden });
    const cleared = { mask: null, search_indexes: null, fingerprint_expression: null };
    const { status, body } = await patch(page, id, cleared);
    expect(status).toBe(200);
    expect(body).not.toHaveProperty("data");
    expect(body).not.toHaveProperty("fingerprint");
    expect(await clerk("POST", "/tokens/search", { body: { query: "data:6789" } })).toMatchObject({
      body: { pagination: { total_items: 0 } },
    });
    expect(withoutIds(await everythingOf(clerk, id))).not.toContain("6789");
  });

  it("may hide more, with immediate effect", async () => {
    const mask = { a: "{{ data.a }}", b: { c: "{{ data.b | last4 }}" }, d: "{{ data.d }}" };
    const id = await make({ type: "token", data: { a: 1, b: "long text", d: 2 }, mask });
    const { body } = await patch(page, id, { mask: { a: null, d: "no number" } });
    expect(body).toMatchObject({ data: { b: { c: "text" }, d: "no number" } });
    expect(body.data).not.toHaveProperty("a");
    expect((await patch(page, id, { mask: { d: "{{ data.a }}" } })).body).not.toHaveProperty("data");
    expect((await patch(page, id, { mask: "nothing to see" })).body.data).toBe("nothing to see");
    const one = await make({ type: "token", data: "x", search_indexes: ["{{ data }}", "y"] });
    expect((await patch(page, one, { search_indexes: ["y"] })).status).toBe(200);
    const found = async (query: string) =>
      (await clerk("POST", "/tokens/search", { body: { query } })).body.pagination.total_items;
    expect([await found("data:x"), await found("data:y")]).toEqual([0, 1]);
  });

  it("decides how it is shown if it replaces the whole value", async () => {
    const id = await make({ type: "token", data: { a: "secret" } });
    const all = { data: { a: null, b: "mine" }, mask: { seen: "{{ data.b }}" }, search_indexes: ["{{ data.b }}"] };
    expect((await patch(page, id, all)).body.data).toEqual({ seen: "mine" });
    expect((await clerk("POST", "/tokens/search", { body: { query: "data:mine" } })).body.data).toMatchObject([{ id }]);
    const other = await make({ type: "token", data: { a: "secret" } });
    expect((await patch(page, other, { data: { b: "mine" }, mask: { seen: "{{ data.a }}" } })).body).not.toHaveProperty(
      "data",
    );
  });

  it("is overruled by a caller who may see it, field by field", async () => {
    const id = await card();
    const planted = { number: "{{ data.number }}", last4: "{{ data.number | last4 }}" };
    await patch(page, id, { mask: planted });
    // Merging something else does not activate the planted expression.
    await patch(backEnd, id, { mask: { year: "{{ data.expiration_year }}" } });
    expect((await clerk("GET", `/tokens/${id}`)).body).not.toHaveProperty("data");
    await patch(backEnd, id, { mask: { ...planted, number: null } });
    expect((await clerk("GET", `/tokens/${id}`)).body).not.toHaveProperty("data");
    const whole = { number: null, last4: planted.last4, year: "{{ data.expiration_year }}" };
    await patch(backEnd, id, { mask: { ...whole, expiration_month: null, expiration_year: null } });
    expect((await clerk("GET", `/tokens/${id}`)).body.data).toEqual({ last4: "4242", year: 2030 });
    await patch(page, id, { mask: { all: "{{ data }}" } });
    await patch(backEnd, id, { mask: null });
    const { cvc: _, ...lasting } = CARD;
    expect((await clerk("GET", `/tokens/${id}`)).body.data).toEqual({ ...lasting, number: "XXXXXXXXXXXX4242" });
  });

  it("sets active masks and indexes with a back end's key and plain permissions", async () => {
    const id = await make({ type: "token", data: { name: "Ada", code: "abc123" } });
    const change = {
      mask: { code: "{{ data.code | last4 }}" },
      search_indexes: ["{{ data.name }}"],
      fingerprint_expression: "{{ data.name }}",
    };
    const { status, body } = await patch(clerk, id, change);
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...change, data: { code: "c123" }, fingerprint: expect.any(String) });
    expect((await clerk("GET", `/tokens/${id}`)).body.data).toEqual({ code: "c123" });
    const found = await clerk("POST", "/tokens/search", { body: { query: "data:Ada" } });
    expect(found.body.data).toMatchObject([{ id, data: { code: "c123" } }]);
  });

  it("sees an older token with the same content through that token's own mask", async () => {
    const data = { number: "5555555555554444" };
    const id = await make({ type: "card", data, deduplicate_token: true, mask: "hidden" });
    const open = { type: "card", data, mask: "{{ data }}", deduplicate_token: true };
    expect((await clerk("POST", "/tokens", { body: open })).body).toMatchObject({ id, data: "hidden", mask: "hidden" });
    expect((await clerk("POST", "/tokenize", { body: [open] })).body).toMatchObject([{ id, data: "hidden" }]);
    expect((await page("POST", "/tokens", { body: open })).body).not.toHaveProperty("data");
    const other = await make({ type: "token", data: NUMBER });
    const response = await patch(page, other, { fingerprint_expression: NUMBER, deduplicate_token: true });
    expect(response).toMatchObject({ status: 200, body: { id: other } });
  });
});

describe("a token that is moved", () => {
  it("is redacted if any of its containers says so, and masked otherwise", async () => {
    const tenant = await newTenant();
    const backEnd = await tenant.backEnd();
    const mover = await tenant.application({
      type: "private",
      rules: [
        { priority: 1, container: "/a/", transform: "reveal", permissions: ["token:update"] },
        { priority: 2, container: "/b/", transform: "redact", permissions: ["token:update"] },
      ],
    });
    const move = async (from: string[], to: string[]) => {
      const token = { type: "token", data: "plain", mask: "masked", containers: from };
      const { id } = (await backEnd("POST", "/tokens", { body: token })).body;
      const body = { containers: to, metadata: { moved: "1" } };
      return mover("PATCH", `/tokens/${id}`, { headers: MERGE_PATCH, body });
    };
    for (const [from, to] of [
      [["/a/"], ["/b/"]],
      [["/b/"], ["/a/"]],
      [["/a/", "/b/"], ["/a/"]],
    ] as const) {
      const { status, body } = await move([...from], [...to]);
      expect({ status, containers: body.containers }).toEqual({ status: 200, containers: to });
      expect(body).not.toHaveProperty("data");
    }
    expect((await move(["/a/"], ["/a/x/"])).body.data).toBe("masked");
  });
});
