import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const NUMBER = "4242424242424242";
const CODE = "987";
const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };

describe("a card's verification code", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  let stored: Stored;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    stored = await openStored();
  });
  afterAll(() => stored?.[Symbol.asyncDispose]());
  const card = (more: object, cvc = CODE) => ({ type: "card", data: { number: NUMBER, cvc }, ...more });
  const create = (more: object, cvc?: string) => backEnd("POST", "/tokens", { body: card(more, cvc) });

  it("cannot be a search index, which would find it for as long as the token lives", async () => {
    const refused = { status: 400, body: { errors: { "search_indexes[0]": [expect.any(String)] } } };
    expect(await create({ search_indexes: ["{{ data.cvc }}"] })).toMatchObject(refused);
    const { id } = (await create({})).body;
    const body = { search_indexes: ["{{ data.cvc }}"] };
    expect(await backEnd("PATCH", `/tokens/${id}`, { headers: MERGE_PATCH, body })).toMatchObject(refused);
    expect((await backEnd("DELETE", `/tokens/${id}`)).status).toBe(204);
  });

  it("is not part of a fingerprint, which could be tried for all codes", async () => {
    const expression = { fingerprint_expression: "{{ data | stringify }}" };
    const one = (await create(expression, "123")).body;
    const other = (await create(expression, "456")).body;
    expect(other.fingerprint).toBe(one.fingerprint);
    const patched = await backEnd("PATCH", `/tokens/${one.id}`, {
      headers: MERGE_PATCH,
      body: { data: { cvc: "789" } },
    });
    expect(patched.body.fingerprint).toBe(one.fingerprint);
    expect((await backEnd("GET", `/tokens/${one.id}`)).body.data.cvc).toBe("789");
  });

  it("is not part of an id", async () => {
    expect((await create({ id: "card-of-{{ data.cvc }}-{{ data.number | last4 }}" })).body.id).toBe("card-of--4242");
    expect((await create({ id: "{{ data.cvc }}" })).status).toBe(400);
  });

  it.each([
    [
      "under another name",
      { code: "{{ data.cvc }}", last4: "{{ data.number | last4 }}" },
      { code: CODE, last4: "4242" },
      { last4: "4242" },
    ],
    ["as all there is", "{{ data.cvc }}", CODE, null],
  ])("is not kept for an idempotency key if a mask shows it %s", async (_, mask, shown, kept) => {
    const clerk = await tenant.application({ type: "private", permissions: ["token:create", "token:update"] });
    const headers = { "BT-IDEMPOTENCY-KEY": `masked ${JSON.stringify(mask)}` };
    const create = () => clerk("POST", "/tokens", { headers, body: card({ mask }) });
    const first = (await create()).body;
    expect(first.data).toEqual(shown);
    expect((await create()).body).toEqual({ ...first, data: kept });

    const tokenize = () => clerk("POST", "/tokenize", { headers, body: [card({ mask })] });
    const [tokenized] = (await tokenize()).body;
    expect(tokenized.data).toEqual(shown);
    expect((await tokenize()).body).toEqual([{ ...tokenized, data: kept }]);

    const body = { data: { expiration_month: 3 } };
    const patch = () => clerk("PATCH", `/tokens/${first.id}`, { headers: { ...headers, ...MERGE_PATCH }, body });
    const patched = (await patch()).body;
    expect(patched.data).toEqual(shown);
    expect((await patch()).body).toEqual({ ...patched, data: kept });
  });
});

describe("a token whose search indexes change at each evaluation", () => {
  it("is found by the values it was written with, and leaves none of them behind", async () => {
    const tenant = await newTenant();
    const backEnd = await tenant.backEnd();
    await using stored = await openStored();
    const search_indexes = ["{{ data | alias_preserve_length }}", "{{ data }}"];
    const { id } = (await backEnd("POST", "/tokens", { body: { type: "token", data: "first", search_indexes } })).body;
    const patch = (body: object) => backEnd("PATCH", `/tokens/${id}`, { headers: MERGE_PATCH, body });
    expect((await patch({ metadata: { a: "b" } })).status).toBe(200);
    expect((await patch({ data: "second" })).status).toBe(200);
    const found = async (value: string) =>
      (await backEnd("POST", "/tokens/search", { body: { query: `data:${value}` } })).body.pagination.total_items;
    expect([await found("first"), await found("second")]).toEqual([0, 1]);
    expect((await backEnd("DELETE", `/tokens/${id}`)).status).toBe(204);
    expect(await stored.left(tenant.id)).not.toHaveProperty("token_terms");
  });
});
