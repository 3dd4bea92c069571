import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const UUID = /^[0-9a-f-]{36}$/;
const number = "4242424242424242";
const card = { type: "card", data: { number, expiration_month: 12, expiration_year: 2030 } };
const maskedCard = { number: "XXXXXXXXXXXX4242", expiration_month: 12, expiration_year: 2030 };

let tenant: TestTenant;
let backEnd: RestClient;
/** Sees masks only. */
let clerk: RestClient;
let stored: Stored;
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  clerk = await tenant.application({ type: "private", permissions: ["token:create", "token:read"] });
  stored = await openStored();
});
afterAll(() => stored[Symbol.asyncDispose]());

describe("tokenizing", () => {
  const dataOf = async (id: string) => (await backEnd("GET", `/tokens/${id}`)).body.data;

  it.each(["a text", "", 42, -1.5, true, false])("the bare value %j returns one id", async (value) => {
    const { status, body, headers } = await backEnd("POST", "/tokenize", { body: value });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(body).toMatch(UUID);
    expect(await dataOf(body)).toBe(value);
  });

  it.each([[null], [[]], [{}], [[null, [], {}]], [{ a: null, b: { c: [] } }], [{ type: "card" }]])(
    "%j, in which there is nothing but structure, makes no more than its leaves",
    async (value) => {
      const before = await stored.counts(tenant.id);
      const { status, body } = await backEnd("POST", "/tokenize", { body: value });
      expect(status).toBe(200);
      const leaves = JSON.stringify(value).includes("card") ? 1 : 0;
      if (leaves === 0) expect(body).toEqual(value);
      expect((await stored.counts(tenant.id)).tokens - before.tokens).toBe(leaves);
    },
  );

  it("a structure returns the same structure with a token for each leaf", async () => {
    const value = { name: "Ada", age: 36, tags: ["x", ["y"], null], address: { city: "London", none: {} } };
    const { status, body } = await backEnd("POST", "/tokenize", { body: value });
    expect(status).toBe(200);
    expect(body).toEqual({
      name: expect.stringMatching(UUID),
      age: expect.stringMatching(UUID),
      tags: [expect.stringMatching(UUID), [expect.stringMatching(UUID)], null],
      address: { city: expect.stringMatching(UUID), none: {} },
    });
    expect(await dataOf(body.name)).toBe("Ada");
    expect(await dataOf(body.age)).toBe(36);
    expect(await dataOf(body.tags[1][0])).toBe("y");
  });

  it.each([
    ["a single request", (item: unknown) => item, (response: unknown) => response],
    ["a list", (item: unknown) => ["x", item], ([, token]: unknown[]) => token],
    ["nested", (item: unknown) => ({ a: [{ b: item }] }), ({ a: [{ b }] }: { a: [{ b: unknown }] }) => b],
  ])("a card as %s shows the evaluated mask as data and as mask", async (_, wrap, unwrap) => {
    const { status, body } = await clerk("POST", "/tokenize", { body: wrap(card) });
    expect(status).toBe(200);
    const token = unwrap(body);
    expect(token).toMatchObject({
      id: expect.stringMatching(UUID),
      tenant_id: tenant.id,
      type: "card",
      data: maskedCard,
      mask: maskedCard,
      fingerprint_expression: "{{ data.number }}",
      created_by: expect.stringMatching(UUID),
      created_at: expect.any(String),
    });
    expect(JSON.stringify(body)).not.toContain(number);
  });

  it("a typed item accepts everything that creating a token accepts", async () => {
    const item = {
      type: "token",
      id: "tokenized-1",
      data: { a: 1 },
      mask: "{{ data.a }}",
      containers: ["/Mine/"],
      metadata: { k: "v" },
      search_indexes: ["{{ data.a }}"],
      fingerprint_expression: "{{ data.a }}",
      expires_at: "9/27/2030",
      deduplicate_token: false,
      unknown: "is ignored",
    };
    const { status, body } = await clerk("POST", "/tokenize", { body: item });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ id: "tokenized-1", data: 1, mask: "{{ data.a }}", containers: ["/mine/"], metadata: { k: "v" } },
      ...{ search_indexes: ["{{ data.a }}"], fingerprint: expect.any(String) },
      ...{ fingerprint_expression: "{{ data.a }}", expires_at: "2030-09-27T00:00:00.000Z" },
    });
    expect(body).not.toHaveProperty("unknown");
    expect(body).not.toHaveProperty("deduplicate_token");
    const again = await clerk("POST", "/tokenize", { body: [item] });
    expect(again).toMatchObject({ status: 409, body: { code: "already_exists" } });
    expect(Object.keys(again.body.errors)).toEqual(["[0].id"]);
  });

  it("an object with a type and no data is plain structure", async () => {
    const { status, body } = await backEnd("POST", "/tokenize", { body: { type: "card", number } });
    expect(status).toBe(200);
    expect(body).toEqual({ type: expect.stringMatching(UUID), number: expect.stringMatching(UUID) });
    expect(await dataOf(body.type)).toBe("card");
  });

  it("keeps members called __proto__", async () => {
    const { status, body } = await backEnd("POST", "/tokenize", { raw: '{"__proto__":{"a":"x"}}' });
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toMatch(/^\{"__proto__":\{"a":"[0-9a-f-]{36}"\}\}$/);
  });

  it("equal values twice return two tokens, unless they are deduplicated", async () => {
    const { body } = await backEnd("POST", "/tokenize", { body: ["same", "same"] });
    expect(body[0]).not.toBe(body[1]);
    const item = { type: "token", data: "once", deduplicate_token: true };
    const folded = await backEnd("POST", "/tokenize", { body: [item, item] });
    expect(folded.status).toBe(200);
    expect(folded.body[0].id).toBe(folded.body[1].id);
  });

  it("accepts 100 values, leaves and typed items together, and no more", async () => {
    const leaves = (count: number) => Array.from({ length: count }, (_, index) => `leaf ${index}`);
    const most = await backEnd("POST", "/tokenize", { body: { cards: [card, card], leaves: leaves(98) } });
    expect(most.status).toBe(200);
    expect(new Set(most.body.leaves).size).toBe(98);

    const before = await stored.counts(tenant.id);
    const over = await backEnd("POST", "/tokenize", { body: { cards: [card, card], leaves: leaves(99) } });
    expect(over).toMatchObject({ status: 400, body: { code: "validation_failed" } });
    expect(over.body.errors).toEqual({ body: [expect.stringContaining("at most 100")] });
    expect(over.body.detail).toBe("body must hold at most 100 values to tokenize");
    expect(await stored.counts(tenant.id)).toEqual(before);
  });

  it("nulls and empty containers do not count", async () => {
    const body = [Array(200).fill(null), Array(200).fill({}), "x"];
    expect(await backEnd("POST", "/tokenize", { body })).toMatchObject({ status: 200 });
  });

  it.each([
    ["a wrong card", { people: [{}, { card: { type: "card", data: { number: "1" } } }] }, "people[1].card.data.number"],
    ["a wrong card as the whole body", { type: "card", data: { number: "1" } }, "data.number"],
    ["an unknown type", { a: { type: "nope", data: 1 } }, "a.type"],
    ["a card whose type is null", { a: { type: null, data: { number, cvc: "123" } } }, "a.type"],
    ["a card whose type is a number", [{ type: 5, data: { number, cvc: "123" } }], "[0].type"],
    ["a type that is an object", { type: { a: "card" }, data: { number, cvc: "123" } }, "type"],
    ["null data", [{ type: "token", data: null }], "[0].data"],
    ["a wrong container", [{ type: "token", data: 1, containers: ["/a/", "b"] }], "[0].containers[1]"],
    ["containers that are not a list", { a: { type: "token", data: 1, containers: "/a/" } }, "a.containers"],
    ["metadata that is not a string", { a: { type: "token", data: 1, metadata: { k: 1 } } }, "a.metadata.k"],
    ["a wrong expiry", { a: { type: "token", data: 1, expires_at: "never" } }, "a.expires_at"],
    ["a wrong id", { a: { type: "token", data: 1, id: "x/y" } }, "a.id"],
    ["a mask of no filter", { a: { type: "token", data: 1, mask: ["{{ data | nope }}"] } }, "a.mask[0]"],
    [
      "a wrong expression",
      { a: { type: "token", data: 1, search_indexes: ["{{ data | nope }}"] } },
      "a.search_indexes[0]",
    ],
    ["a flag that is a text", { a: { type: "token", data: 1, deduplicate_token: "yes" } }, "a.deduplicate_token"],
    ["half a surrogate pair", { a: ["\ud800"] }, "a[0]"],
    ["a member named value", { value: { value: { type: "card", data: { number: "1" } } } }, "value.value.data.number"],
  ])("stores nothing if there is %s, and names its position", async (_, wrong, field) => {
    const before = await stored.counts(tenant.id);
    const response = await backEnd("POST", "/tokenize", { body: { good: ["x", card], wrong } });
    const alone = await backEnd("POST", "/tokenize", { body: wrong });
    expect([response.status, alone.status]).toEqual([400, 400]);
    expect(Object.keys(alone.body.errors)).toEqual([field]);
    const path = `wrong${field.startsWith("[") ? "" : "."}${field}`;
    expect(Object.keys(response.body.errors)).toEqual([path]);
    expect(await stored.counts(tenant.id)).toEqual(before);
  });

  it("stores nothing if one of many ids is taken", async () => {
    await backEnd("POST", "/tokens", { body: { type: "token", id: "taken-id", data: 1 } });
    const before = await stored.counts(tenant.id);
    const body = {
      a: "x",
      b: card,
      c: { type: "token", id: "free-id", data: 1 },
      d: { type: "token", id: "taken-id", data: 2 },
    };
    const response = await backEnd("POST", "/tokenize", { body });
    expect(response).toMatchObject({ status: 409, body: { code: "already_exists" } });
    expect(Object.keys(response.body.errors)).toEqual(["d.id"]);
    expect(await stored.counts(tenant.id)).toEqual(before);
    expect(await backEnd("GET", "/tokens/free-id")).toMatchObject({ status: 404 });
  });

  it("rejects an empty body, and invalid JSON", async () => {
    expect(await backEnd("POST", "/tokenize", { raw: "" })).toMatchObject({ status: 400 });
    const form = { raw: "4242424242424242", headers: { "content-type": "application/x-www-form-urlencoded" } };
    expect(await backEnd("POST", "/tokenize", form)).toMatchObject({ status: 400, body: { code: "malformed_body" } });
  });
});

describe("detokenizing", () => {
  let id: string;
  let cardId: string;
  beforeAll(async () => {
    id = (await backEnd("POST", "/tokens", { body: { type: "token", data: { name: "Ada", langs: ["en", "fr"] } } }))
      .body.id;
    cardId = (await backEnd("POST", "/tokens", { body: card })).body.id;
  });

  it("replaces references by values with their type", async () => {
    const body = {
      whole: `{{ ${id} }}`,
      name: `{{${id} | json: '$.name'}}`,
      text: `Dear {{ ${id} | json: '$.name' }}, your card is {{ ${cardId} | json: '$.number' | last4 }}.`,
      year: `{{ ${cardId} | json: '$.expiration_year' }}`,
      kept: ["no reference", 5, null, true, {}, []],
    };
    const { status, body: response } = await backEnd("POST", "/detokenize", { body });
    expect(status).toBe(200);
    expect(response).toEqual({
      whole: { name: "Ada", langs: ["en", "fr"] },
      name: "Ada",
      text: "Dear Ada, your card is 4242.",
      year: 2030,
      kept: body.kept,
    });
  });

  it.each([
    ["a bare text", () => `{{ ${id} }}`, { name: "Ada", langs: ["en", "fr"] }],
    ["a list", () => [`{{ ${id} | json: '$.langs' }}`], [["en", "fr"]]],
    ["a body without references", () => ({ a: 1 }), { a: 1 }],
    ["null", () => null, null],
  ])("accepts %s", async (_, make, wanted) => {
    const { status, body } = await backEnd("POST", "/detokenize", { body: make() });
    expect(status).toBe(200);
    expect(body).toEqual(wanted);
  });

  it("shows what the caller may see: masks to callers who see masks, null for redacted values", async () => {
    const shown = await clerk("POST", "/detokenize", {
      body: [`{{ ${cardId} }}`, `{{ ${cardId} | json: '$.number' }}`],
    });
    expect(shown).toMatchObject({ status: 200, body: [maskedCard, "XXXXXXXXXXXX4242"] });
    const blind = await tenant.application({
      type: "private",
      rules: [{ priority: 1, container: "/", transform: "redact", permissions: ["token:read"] }],
    });
    expect(await blind("POST", "/detokenize", { body: [`{{ ${cardId} }}`] })).toMatchObject({
      status: 200,
      body: [null],
    });
  });

  it("shows whole tokens on request", async () => {
    const { status, body } = await backEnd("POST", "/detokenize", { body: { card: `{{ token: ${cardId} }}` } });
    expect(status).toBe(200);
    expect(body.card).toMatchObject({ id: cardId, type: "card", data: card.data });
    expect(body.card.enrichments.card_details).toEqual({ bin: "42424242", last4: "4242" });
  });

  it("fails as a whole for missing tokens, and names them", async () => {
    const { status, body } = await backEnd("POST", "/detokenize", { body: [`{{ ${id} }}`, "{{ not-there }}"] });
    expect({ status, code: body.code }).toEqual({ status: 400, code: "validation_failed" });
    expect(body.detail).toContain("not-there");
    expect(JSON.stringify(body)).not.toContain("Ada");
  });

  it("fails as a whole for a token that the caller may not read", async () => {
    const hidden = await backEnd("POST", "/tokens", { body: { type: "token", data: 1, containers: ["/hidden/"] } });
    const holder = await tenant.application({
      type: "private",
      rules: [{ priority: 1, container: "/general/", transform: "reveal", permissions: ["token:read"] }],
    });
    expect(await holder("POST", "/detokenize", { body: [`{{ ${id} }}`] })).toMatchObject({ status: 200 });
    const response = await holder("POST", "/detokenize", { body: [`{{ ${id} }}`, `{{ ${hidden.body.id} }}`] });
    expect(response).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    expect(JSON.stringify(response.body)).not.toContain("Ada");
  });

  it.each([
    ["an unknown filter", () => ({ a: [`{{ ${id} | nope }}`] }), "a[0]"],
    ["an empty expression", () => "{{ }}", "body"],
    ["an expression that finds nothing", () => [{ value: `{{ ${id} | json: '$.x' }}` }], "[0].value"],
  ])("names the position of %s", async (_, make, field) => {
    const { status, body } = await backEnd("POST", "/detokenize", { body: make() });
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: [field] });
  });

  it("accepts references to 100 tokens at most", async () => {
    const made = await backEnd("POST", "/tokenize", { body: Array.from({ length: 100 }, (_, index) => index) });
    const references = made.body.map((token: string) => `{{ ${token} }}`);
    const response = await backEnd("POST", "/detokenize", { body: references });
    expect(response.status).toBe(200);
    expect(response.body).toEqual(Array.from({ length: 100 }, (_, index) => index));
    const over = await backEnd("POST", "/detokenize", { body: [...references, `{{ ${id} }}`] });
    expect(over).toMatchObject({ status: 400, body: { errors: { body: [expect.stringContaining("at most 100")] } } });
    // The same token many times is one.
    expect(await backEnd("POST", "/detokenize", { body: Array(300).fill(`{{ ${id} }}`) })).toMatchObject({
      status: 200,
    });
  });
});
