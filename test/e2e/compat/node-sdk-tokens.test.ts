import { BasisTheory, type BasisTheoryClient, BasisTheoryError } from "@basis-theory/node-sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { CARD, MASKED, newerClient, thrownBy } from "./clients.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe("@basis-theory/node-sdk 5.7.0, tokens", () => {
  let tenant: TestTenant;
  let client: BasisTheoryClient;
  let clerk: BasisTheoryClient;
  beforeAll(async () => {
    tenant = await newTenant();
    client = newerClient((await tenant.backEnd()).key);
    const permissions = ["token:create", "token:read", "token:update"];
    clerk = newerClient((await tenant.application({ type: "private", permissions })).key);
  });

  it("creates and gets a card, with dates and details as its types declare", async () => {
    const created = await clerk.tokens.create({
      type: "card",
      data: CARD,
      metadata: { userName: "ada" },
      searchIndexes: ["{{ data.number | last4 }}"],
      fingerprintExpression: "{{ data.number }}",
      expiresAt: "8/26/2030 7:23:57 PM -07:00",
    });
    expect(created).toMatchObject({
      id: expect.stringMatching(UUID),
      tenantId: tenant.id,
      type: "card",
      data: MASKED,
      mask: MASKED,
      metadata: { userName: "ada" },
      containers: ["/pci/high/"],
      searchIndexes: ["{{ data.number | last4 }}"],
      fingerprint: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{40,}$/),
      fingerprintExpression: "{{ data.number }}",
      card: { bin: "42424242", last4: "4242", expirationMonth: 12, expirationYear: 2030, brand: "visa" },
      extras: { deduplicated: false },
      createdAt: expect.any(Date),
    });
    expect(created.expiresAt).toEqual(new Date("2030-08-26T19:23:57-07:00"));
    const read = await client.tokens.get(created.id ?? "");
    expect(read.data).toEqual(CARD);
    expect(read.createdAt).toEqual(created.createdAt);
  });

  it("accepts a verification code that is a number, and a bank account", async () => {
    const card = await client.tokens.create({ type: "card", data: { ...CARD, cvc: 123 } });
    expect(card.data).toEqual(MASKED);
    expect((await client.tokens.get(card.id ?? "")).data).toEqual(CARD);
    const data = { routing_number: "021000021", account_number: "00001111222233330" };
    const bank = await clerk.tokens.create({ type: "bank", data });
    expect(bank).toMatchObject({
      data: { ...data, account_number: "XXXXXXXXXXXXX3330" },
      bank: { routingNumber: "021000021", accountNumberLast4: "3330" },
    });
  });

  it("accepts a mask with a comma in place of a pipe", async () => {
    const mask = { number: "{{ data.number, reveal_last: 4 }}" };
    await expect(client.tokens.create({ type: "card", data: CARD, mask })).resolves.toMatchObject({ mask });
  });

  it("patches", async () => {
    const { id = "" } = await client.tokens.create({
      type: "token",
      data: { a: 1, b: { c: 2, d: 3 } },
      metadata: { one: "1", two: "2" },
    });
    const patched = await client.tokens.update(id, {
      data: { b: { c: null }, e: [4] },
      metadata: { two: "zwei" },
      containers: ["/moved/"],
      expiresAt: "2031-01-01",
    });
    expect((await client.tokens.get(id)).data).toEqual({ a: 1, b: { d: 3 }, e: [4] });
    expect(patched).toMatchObject({
      id,
      metadata: { one: "1", two: "zwei" },
      containers: ["/moved/"],
      expiresAt: new Date("2031-01-01T00:00:00Z"),
      modifiedAt: expect.any(Date),
    });
  });

  it("deletes", async () => {
    const { id = "" } = await client.tokens.create({ type: "token", data: "x" });
    await expect(client.tokens.delete(id)).resolves.toBeUndefined();
    expect(await thrownBy(client.tokens.get(id))).toBeInstanceOf(BasisTheory.NotFoundError);
  });

  it("replays a create under one idempotency key", async () => {
    const options = { idempotencyKey: crypto.randomUUID() };
    const first = await client.tokens.create({ type: "token", data: "one" }, options);
    const second = await client.tokens.create({ type: "token", data: "two" }, options);
    expect(second.id).toBe(first.id);
  });

  it("gets tokens whose ids contain characters that a path escapes", async () => {
    const id = "a b:ü@$!'()*,;";
    await client.tokens.create({ id, type: "token", data: "x" });
    await expect(client.tokens.get(id)).resolves.toMatchObject({ id, data: "x" });
  });

  it("tokenizes and detokenizes any JSON", async () => {
    const body = { name: "Ada", card: { type: "card", data: CARD }, list: [1, true, null, {}] };
    const made = await clerk.tokens.tokenize(body);
    expect(made).toEqual({
      name: expect.stringMatching(UUID),
      card: expect.objectContaining({ id: expect.stringMatching(UUID), type: "card", data: MASKED }),
      list: [expect.stringMatching(UUID), expect.stringMatching(UUID), null, {}],
    });
    const { name, card } = Object(made);
    const shown = await client.tokens.detokenize({
      name: `{{ ${name} }}`,
      number: `{{ ${card.id} | json: '$.number' }}`,
      cards: [`{{${card.id}}}`],
      whole: `{{ token: ${card.id} | json: '$.type' }}`,
      text: `Dear {{ ${name} | upcase }}!`,
    });
    const whole = { name: "Ada", number: CARD.number, cards: [CARD], whole: "card", text: "Dear ADA!" };
    expect(shown).toEqual(whole);
    expect(await client.tokens.tokenize("a bare text")).toEqual(expect.stringMatching(UUID));
  });

  it("pages through lists and searches by cursor", async () => {
    const made: string[] = [];
    for (let number = 0; number < 7; number += 1) {
      const metadata = { group: "pages", number: String(number) };
      const { id = "" } = await client.tokens.create({
        type: "token",
        data: number,
        metadata,
        containers: ["/pages/"],
      });
      made.unshift(id);
    }
    const idsOf = async (pages: Promise<AsyncIterable<BasisTheory.Token>>) => {
      const ids: (string | undefined)[] = [];
      for await (const { id } of await pages) ids.push(id);
      return ids;
    };
    expect(await idsOf(client.tokens.listV2({ container: "/pages/", size: 3 }))).toEqual(made);
    expect(await idsOf(client.tokens.listV2({ metadata: { group: "pages" }, size: 100 }))).toEqual(made);
    expect(await idsOf(client.tokens.searchV2({ query: "metadata.group:pages", size: 2 }))).toEqual(made);
    expect(await idsOf(client.tokens.listV2({ container: "/no/such/" }))).toEqual([]);
    const first = await client.tokens.listV2({ container: "/pages/", size: 7 });
    expect(first.hasNextPage()).toBe(false);
  });

  it("creates a session, authorizes it, and works with its key", async () => {
    const page = newerClient((await tenant.application({ type: "public", permissions: ["token:create"] })).key);
    const { id = "" } = await client.tokens.create({ type: "card", data: CARD });
    const session = await page.sessions.create();
    expect(session).toMatchObject({ sessionKey: expect.any(String), nonce: expect.any(String) });
    expect(session.expiresAt).toBeInstanceOf(Date);
    const visitor = newerClient(session.sessionKey ?? "");
    expect(await thrownBy(visitor.tokens.get(id))).toBeInstanceOf(BasisTheory.ForbiddenError);
    const nonce = session.nonce ?? "";
    const conditions = [{ attribute: "id", operator: "equals", value: id }];
    const rules = [{ description: "one", priority: 1, conditions, transform: "reveal", permissions: ["token:read"] }];
    await expect(client.sessions.authorize({ nonce, rules })).resolves.toBeUndefined();
    await expect(visitor.tokens.get(id)).resolves.toMatchObject({ data: CARD });
    expect(await thrownBy(client.sessions.authorize({ nonce, rules }))).toBeInstanceOf(BasisTheory.ConflictError);
  });

  it("throws its own error classes, with bodies that it can parse", async () => {
    const { id = "" } = await client.tokens.create({ type: "token", data: "x" });
    const wrong = { type: "card", data: { ...CARD, number: "4242424242424241" } };
    const cases: [() => PromiseLike<unknown>, typeof BasisTheoryError, number][] = [
      [() => client.tokens.create(wrong), BasisTheory.BadRequestError, 400],
      [() => newerClient("key_test_pvt_unknown").tokens.get(id), BasisTheory.UnauthorizedError, 401],
      [() => clerk.tokens.delete(id), BasisTheory.ForbiddenError, 403],
      [() => client.tokens.get("not-there"), BasisTheory.NotFoundError, 404],
      [() => client.tokens.create({ id, type: "token", data: "y" }), BasisTheory.ConflictError, 409],
      [() => client.tokens.update(id, {}, { headers: { "Content-Type": "application/json" } }), BasisTheoryError, 415],
    ];
    for (const [call, kind, status] of cases) {
      const error = await thrownBy(call());
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({
        statusCode: status,
        body: { title: expect.any(String), detail: expect.any(String), status },
      });
    }
    expect(await thrownBy(client.tokens.create({ type: "card", data: { number: "1" } }))).toMatchObject({
      body: { errors: { "data.number": [expect.any(String)] } },
    });
  });
});
