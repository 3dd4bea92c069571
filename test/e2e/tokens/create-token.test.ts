import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

describe("creating a token", () => {
  let tenant: TestTenant;
  let backEnd: RestClient & { readonly id: string };
  /** May create and read, and sees masks only. */
  let clerk: RestClient;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    clerk = await tenant.application({ type: "private", permissions: ["token:create", "token:read"] });
  });

  it("returns all of its fields, and nothing else", async () => {
    const sentAt = Date.now();
    const { status, body } = await backEnd("POST", "/tokens", { body: { type: "token", data: "secret" } });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(UUID_V7),
      tenant_id: tenant.id,
      type: "token",
      fingerprint_expression: "{{ data | stringify }}",
      containers: ["/general/high/"],
      created_by: backEnd.id,
      created_at: expect.stringMatching(TIME),
      _extras: { deduplicated: false },
    });
    expect(Date.parse(body.created_at)).toBeGreaterThanOrEqual(sentAt);
    expect(Date.parse(body.created_at)).toBeLessThanOrEqual(Date.now());
  });

  it.each([
    ["a text", "Grüße, 世界 👋"],
    ["an empty text", ""],
    ["a text with a NUL", "a\u0000b"],
    ["a whole number", 42],
    ["a fraction", -0.1],
    ["the largest exact number", 9007199254740991],
    ["a large exact number", 12345678901234567000],
    ["true", true],
    ["false", false],
    ["a list", [1, "two", [3, null], {}]],
    ["an empty list", []],
    ["an empty object", {}],
    ["an object with nulls", { a: null, b: { c: [null] } }],
    ["an object with odd names", { "": 1, "a.b": 2, "[0]": 3, constructor: 4, "naïve 👋": 5 }],
  ])("keeps %s unchanged", async (_, data) => {
    const created = await backEnd("POST", "/tokens", { body: { type: "token", data } });
    expect(created.status).toBe(201);
    expect(created.body).not.toHaveProperty("data");
    const read = await backEnd("GET", `/tokens/${created.body.id}`);
    expect(read.body.data).toStrictEqual(data);
  });

  it("keeps members called __proto__ without using them as a prototype", async () => {
    const raw = '{"type":"token","data":{"__proto__":{"admin":true},"list":[{"__proto__":1}]}}';
    const created = await backEnd("POST", "/tokens", { raw });
    expect(created.status).toBe(201);
    const read = await backEnd("GET", `/tokens/${created.body.id}`);
    expect(JSON.stringify(read.body.data)).toBe('{"__proto__":{"admin":true},"list":[{"__proto__":1}]}');
  });

  describe("with the type card", () => {
    const number = "5555555555554444";
    const data = { number, expiration_month: 7, expiration_year: 2031, cvc: "042" };
    const masked = { number: "XXXXXXXXXXXX4444", expiration_month: 7, expiration_year: 2031 };

    it("shows the evaluated mask as data and as mask to a caller who sees masks", async () => {
      const created = await clerk("POST", "/tokens", { body: { type: "card", data } });
      expect(created).toMatchObject({ status: 201, body: { data: masked, mask: masked } });
      expect(created.body.fingerprint_expression).toBe("{{ data.number }}");
      expect(created.body.containers).toEqual(["/pci/high/"]);
      expect(created.body.card).toMatchObject({ bin: "55555555", last4: "4444", brand: "mastercard" });
      const read = await clerk("GET", `/tokens/${created.body.id}`);
      expect(read).toMatchObject({ status: 200, body: { data: masked, mask: masked } });
      for (const response of [created, read]) {
        expect(JSON.stringify(response.body)).not.toContain(number);
        expect(JSON.stringify(response.body)).not.toContain("cvc");
      }
    });

    it("is masked in the response under a rule that reveals, and in the clear only when it is read", async () => {
      const created = await backEnd("POST", "/tokens", { body: { type: "card", data } });
      expect(created).toMatchObject({ status: 201, body: { data: masked, mask: masked } });
      expect(JSON.stringify(created.body)).not.toMatch(/5555555555554444|"042"/);
      expect(await backEnd("GET", `/tokens/${created.body.id}`)).toMatchObject({ body: { data, mask: masked } });
    });

    it("shows no details next to a mask of its own", async () => {
      const hidden = { type: "card", data, mask: "hidden" };
      const created = await backEnd("POST", "/tokens", { body: hidden });
      expect(created).toMatchObject({ status: 201, body: { data: "hidden", mask: "hidden" } });
      const { id } = created.body;
      const read = await clerk("GET", `/tokens/${id}`);
      expect(read).toMatchObject({ status: 200, body: { data: "hidden" } });
      const whole = await clerk("POST", "/detokenize", { body: `{{ token: ${id} }}` });
      expect(whole.status).toBe(200);
      for (const { body } of [created, read, whole]) {
        expect(body).not.toHaveProperty("card");
        expect(body).not.toHaveProperty("enrichments");
        expect(withoutIds(body)).not.toMatch(/5555|4444|2031|mastercard/);
      }
      expect((await backEnd("GET", `/tokens/${id}`)).body.card).toMatchObject({ bin: "55555555", last4: "4444" });
    });

    it("omits from the mask what the card does not have", async () => {
      const { body } = await clerk("POST", "/tokens", { body: { type: "card", data: { number } } });
      expect(body.data).toEqual({ number: "XXXXXXXXXXXX4444" });
    });

    it("accepts a month and a year as strings", async () => {
      const given = { number, expiration_month: "07", expiration_year: "2031" };
      const { status, body } = await backEnd("POST", "/tokens", { body: { type: "card", data: given } });
      expect(status).toBe(201);
      expect(body.card).toMatchObject({ expiration_month: 7, expiration_year: 2031 });
      const stored = (await backEnd("GET", `/tokens/${body.id}`)).body.data;
      expect(stored).toStrictEqual({ number, expiration_month: 7, expiration_year: 2031 });
    });

    it("accepts a cvc as a number", async () => {
      const { status, body } = await backEnd("POST", "/tokens", { body: { type: "card", data: { number, cvc: 123 } } });
      expect(status).toBe(201);
      expect((await backEnd("GET", `/tokens/${body.id}`)).body.data.cvc).toBe("123");
    });

    it.each([
      ["letters in the number", { number: "4242abcd42424242" }, ["data.number"]],
      ["a wrong check digit", { number: "4242424242424241" }, ["data.number"]],
      ["separators", { number: "4242 4242 4242 4242" }, ["data.number"]],
      ["a number in place of a string", { number: 4242424242424242 }, ["data.number"]],
      ["no number", {}, ["data.number"]],
      ["an invalid month", { number, expiration_month: 13 }, ["data.expiration_month"]],
      ["a month as text of three digits", { number, expiration_month: "007" }, ["data.expiration_month"]],
      ["a month in words", { number, expiration_month: "July" }, ["data.expiration_month"]],
      ["a year of two digits", { number, expiration_year: 31 }, ["data.expiration_year"]],
      ["a cvc of two digits", { number, cvc: "12" }, ["data.cvc"]],
      ["fields that cards do not have", { number, holder: "Ada", pin: 1 }, ["data.holder", "data.pin"]],
      ["several faults", { number: "1", cvc: "x" }, ["data.number", "data.cvc"]],
      ["a text", "4242424242424242", ["data"]],
    ])("rejects %s", async (_, wrong, fields) => {
      const response = await backEnd("POST", "/tokens", { body: { type: "card", data: wrong } });
      expect(response).toMatchObject({ status: 400, body: { code: "validation_failed" } });
      expect(Object.keys(response.body.errors)).toEqual(fields);
    });
  });

  describe("with the type bank", () => {
    const data = { routing_number: "021000021", account_number: "1234567890" };
    const masked = { routing_number: "021000021", account_number: "XXXXXX7890" };

    it("masks the account number", async () => {
      const created = await clerk("POST", "/tokens", { body: { type: "bank", data } });
      expect(created).toMatchObject({ status: 201, body: { data: masked, containers: ["/bank/high/"] } });
      expect(created.body.bank).toEqual({ routing_number: "021000021", account_number_last4: "7890" });
      expect(created.body.fingerprint_expression).toBe("{{ data.account_number }}|{{ data.routing_number }}");
      // Only a card's own mask is shown evaluated: for all other types `mask` is the definition.
      expect(created.body.mask).toEqual({
        routing_number: "{{ data.routing_number }}",
        account_number: "{{ data.account_number | reveal: reveal_last: 4 }}",
      });
      expect(await clerk("GET", `/tokens/${created.body.id}`)).toMatchObject({ status: 200, body: { data: masked } });
    });

    it.each(["1", "1234"])("masks the account number %s as a whole", async (account_number) => {
      const { body } = await clerk("POST", "/tokens", { body: { type: "bank", data: { ...data, account_number } } });
      expect(body.data).toEqual({ ...data, account_number: "X".repeat(account_number.length) });
      expect(body.bank).toEqual({ routing_number: data.routing_number });
    });

    it.each(["1", "12", "00000000000000001"])("accepts the account number %s", async (account_number) => {
      const response = await backEnd("POST", "/tokens", { body: { type: "bank", data: { ...data, account_number } } });
      expect(response.status).toBe(201);
      expect((await backEnd("GET", `/tokens/${response.body.id}`)).body.data).toEqual({ ...data, account_number });
    });

    it.each([
      ["a routing number that fails its checksum", { ...data, routing_number: "021000022" }, ["data.routing_number"]],
      ["an account number of 18 digits", { ...data, account_number: "1".repeat(18) }, ["data.account_number"]],
      ["missing fields", {}, ["data.routing_number", "data.account_number"]],
      ["unknown fields", { ...data, bank: "x" }, ["data.bank"]],
    ])("rejects %s", async (_, wrong, fields) => {
      const response = await backEnd("POST", "/tokens", { body: { type: "bank", data: wrong } });
      expect(response).toMatchObject({ status: 400, body: { code: "validation_failed" } });
      expect(Object.keys(response.body.errors)).toEqual(fields);
    });
  });

  it.each([
    ["card_number", "4242424242424242", "XXXXXXXXXXXX4242", "/pci/high/"],
    ["us_bank_account_number", "12345678", "XXXX5678", "/bank/high/"],
    ["us_bank_routing_number", "021000021", "XXXXX0021", "/bank/low/"],
    ["social_security_number", "123-45-6789", "XXX-XX-6789", "/pii/high/"],
    ["employer_id_number", "12-3456789", "XX-XXX6789", "/pii/high/"],
  ])("masks all but the last four of type %s", async (type, data, masked, container) => {
    const { status, body } = await clerk("POST", "/tokens", { body: { type, data } });
    expect({ status, data: body.data, containers: body.containers }).toEqual({
      status: 201,
      data: masked,
      containers: [container],
    });
  });

  it("shows no data of a token without a mask to a caller who sees masks", async () => {
    const created = await clerk("POST", "/tokens", { body: { type: "token", data: "secret" } });
    expect(created.status).toBe(201);
    expect(created.body).not.toHaveProperty("data");
    expect(created.body).not.toHaveProperty("mask");
    const read = await clerk("GET", `/tokens/${created.body.id}`);
    expect(read.body).not.toHaveProperty("data");
  });

  it.each([
    ["an expression", "{{ data.name | reveal_last: 2 }}", "XXXce"],
    [
      "an object of expressions and texts",
      { who: "{{ data.name }}", fixed: "hidden", n: 7 },
      { who: "Grace", fixed: "hidden", n: 7 },
    ],
    ["a list", ["{{ data.age }}", null], [36, null]],
    ["a plain text", "hidden", "hidden"],
    ["an expression that finds nothing", { gone: "{{ data.nothing }}", kept: 1 }, { kept: 1 }],
  ])("shows a mask that is %s evaluated as data and as given as mask", async (_, mask, shown) => {
    const data = { name: "Grace", age: 36, secret: "s3cr3t" };
    const created = await clerk("POST", "/tokens", { body: { type: "token", data, mask } });
    expect(created.status).toBe(201);
    for (const { body } of [created, await clerk("GET", `/tokens/${created.body.id}`)]) {
      expect(body.data).toEqual(shown);
      expect(body.mask).toEqual(mask);
      expect(JSON.stringify(body)).not.toContain("s3cr3t");
    }
    expect((await backEnd("GET", `/tokens/${created.body.id}`)).body).toMatchObject({ data, mask });
  });

  it("shows a card's mask as given if its creator chose one", async () => {
    const mask = { last: "{{ data.number | last4 }}" };
    const created = await clerk("POST", "/tokens", {
      body: { type: "card", data: { number: "4242424242424242" }, mask },
    });
    expect(created).toMatchObject({ status: 201, body: { data: { last: "4242" }, mask } });
  });

  it("keeps metadata and containers, the latter in lower case and without duplicates", async () => {
    const metadata = { order: "A-1", näme: "Zoë", "a.b": "" };
    const created = await backEnd("POST", "/tokens", {
      body: { type: "token", data: 1, metadata, containers: ["/Customer-1/High_9/", "/customer-1/high_9/", "/"] },
    });
    expect(created).toMatchObject({ status: 201, body: { metadata, containers: ["/customer-1/high_9/", "/"] } });
    const read = await backEnd("GET", `/tokens/${created.body.id}`);
    expect(read.body).toMatchObject({ metadata, containers: ["/customer-1/high_9/", "/"] });
  });

  it.each(["", "pci", "/pci", "pci/", "//", "/a//b/", "/a b/", "/a%20b/", "/ä/", `/${"a".repeat(400)}/`])(
    "refuses the container %j",
    async (container) => {
      const { status, body } = await backEnd("POST", "/tokens", {
        body: { type: "token", data: 1, containers: ["/fine/", container] },
      });
      expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: ["containers[1]"] });
    },
  );

  it("accepts a container of any depth, but not twenty within thousands", async () => {
    const deep = (name: string) => `/${name}${"/a".repeat(190)}/`;
    const body = (containers: string[]) => ({ body: { type: "token", data: 1, containers } });
    expect((await backEnd("POST", "/tokens", body([deep("one"), deep("two")]))).status).toBe(201);
    const many = Array.from({ length: 20 }, (_, index) => deep(`n${index}`));
    const fields = { errors: { containers: [expect.stringContaining("400")] } };
    expect(await backEnd("POST", "/tokens", body(many))).toMatchObject({ status: 400, body: fields });
  });

  it("shows search indexes as they were given", async () => {
    const search_indexes = ["{{ data.name }}", "{{ data.number | last4 }}"];
    const { status, body } = await backEnd("POST", "/tokens", {
      body: { type: "token", data: { name: "Ada", number: "12345678" }, search_indexes },
    });
    expect(status).toBe(201);
    expect(body.search_indexes).toEqual(search_indexes);
  });
});

describe("fingerprints", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });
  const fingerprintOf = async (body: object) => (await backEnd("POST", "/tokens", { body })).body.fingerprint;

  it("are present if an expression is given, and differ by content", async () => {
    const fingerprint_expression = "{{ data.email }}";
    const make = (email: string, type = "token") =>
      fingerprintOf({ type, data: { email, salt: Math.random() }, fingerprint_expression });
    const first = await make("ada@example.com");
    expect(first).toMatch(/^[1-9A-HJ-NP-Za-km-z]{44,46}$/);
    expect(await make("ada@example.com")).toBe(first);
    expect(await make("bob@example.com")).not.toBe(first);
    const other = await (await newTenant()).backEnd();
    const elsewhere = await other("POST", "/tokens", {
      body: { type: "token", data: { email: "ada@example.com" }, fingerprint_expression },
    });
    expect(elsewhere.body.fingerprint).not.toBe(first);
  });

  it("are absent without one, while the effective expression is shown", async () => {
    const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
    expect(body).not.toHaveProperty("fingerprint");
    expect(body.fingerprint_expression).toBe("{{ data | stringify }}");
  });

  it("differ between types of the same content", async () => {
    const number = "4242424242424242";
    const expression = { fingerprint_expression: "{{ data }}" };
    expect(await fingerprintOf({ type: "card_number", data: number, ...expression })).not.toBe(
      await fingerprintOf({ type: "token", data: number, ...expression }),
    );
  });

  it("are present on every token once the tenant enables them", async () => {
    const settings = { fingerprint_tokens: "true" };
    expect(await tenant.manage("PUT", "/tenants/self", { body: { name: "Test", settings } })).toMatchObject({
      status: 200,
    });
    const card = { type: "card", data: { number: "4242424242424242" } };
    const fingerprint = await fingerprintOf(card);
    expect(fingerprint).toMatch(/^\w{44,46}$/);
    expect(await fingerprintOf({ ...card, data: { ...card.data, expiration_year: 2031 } })).toBe(fingerprint);
  });

  it("are present on a deduplicated token, and the second create returns the first token", async () => {
    const body = { type: "token", data: { a: 1, b: [2] }, deduplicate_token: true };
    const first = await backEnd("POST", "/tokens", { body });
    expect(first.body).toMatchObject({ fingerprint: expect.any(String), _extras: { deduplicated: false } });
    expect(first.body).not.toHaveProperty("deduplicate_token");
    const second = await backEnd("POST", "/tokens", { body });
    expect(second).toMatchObject({ status: 201, body: { id: first.body.id, _extras: { deduplicated: true } } });
    const third = await backEnd("POST", "/tokens", { body: { ...body, deduplicate_token: false } });
    expect(third.body.id).not.toBe(first.body.id);
  });
});
