import { BasisTheoryApiError } from "@basis-theory/basis-theory-js/common/index.js";
import type { BasisTheory } from "@basis-theory/basis-theory-js/types/sdk/index.js";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { CARD, MASKED, olderClient, thrownBy } from "./clients.js";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

describe("@basis-theory/basis-theory-js 4.30.2, tokens", () => {
  let tenant: TestTenant;
  let client: BasisTheory;
  beforeAll(async () => {
    tenant = await newTenant();
    client = await olderClient((await tenant.backEnd()).key);
  });

  it("creates, retrieves, updates and deletes", async () => {
    const clerk = await olderClient((await tenant.application({ type: "private", permissions: ["token:create"] })).key);
    const data = { ...CARD, extra_key: undefined };
    const created = await clerk.tokens.create({
      type: "card",
      data: Object(data),
      metadata: { user_name: "ada" },
      searchIndexes: ["{{ data.number }}"],
      expiresAt: "9/27/2030",
    });
    expect(created).toMatchObject({
      tenantId: tenant.id,
      type: "card",
      data: MASKED,
      metadata: { user_name: "ada" },
      searchIndexes: ["{{ data.number }}"],
      fingerprintExpression: "{{ data.number }}",
      expiresAt: "2030-09-27T00:00:00.000Z",
      createdAt: expect.stringMatching(TIME),
    });
    await expect(client.tokens.retrieve(created.id)).resolves.toMatchObject({ data: CARD });
    const updated = await client.tokens.update(created.id, {
      data: Object({ expiration_year: 2031 }),
      metadata: Object({ user_name: null, kept: "1" }),
    });
    expect(updated).toMatchObject({ data: { expiration_year: 2031 }, metadata: { kept: "1" } });
    expect(updated.metadata).not.toHaveProperty("user_name");
    await expect(client.tokens.delete(created.id)).resolves.toBeUndefined();
    expect(await thrownBy(client.tokens.retrieve(created.id))).toMatchObject({ status: 404 });
  });

  it("lists by pages, by id and by metadata, newest first", async () => {
    const ids: string[] = [];
    for (let number = 0; number < 5; number += 1) {
      const metadata = { "Group Name": "Blue Whales", number: String(number) };
      ids.unshift((await client.tokens.create({ type: "token", data: `value ${number}`, metadata })).id);
    }
    const page = await client.tokens.list({ metadata: { "Group Name": "blue whales" }, page: 2, size: 2 });
    expect(page.pagination).toEqual({ totalItems: 5, pageNumber: 2, pageSize: 2, totalPages: 3 });
    expect(page.data.map(({ id }) => id)).toEqual(ids.slice(2, 4));
    expect(page.data[0]).toMatchObject({ data: "value 2" });
    const both = { "Group Name": "blue whales", number: "3" };
    const one = await client.tokens.list({ metadata: both });
    expect(one.data.map(({ id }) => id)).toEqual([ids[1]]);
    const named = await client.tokens.list({ id: [ids[4] ?? "", ids[0] ?? ""] });
    expect(named.data.map(({ id }) => id)).toEqual([ids[0], ids[4]]);
    const past = await client.tokens.list({ metadata: both, page: 9 });
    expect(past).toEqual({ pagination: { totalItems: 1, pageNumber: 9, pageSize: 20, totalPages: 1 }, data: [] });
  });

  it("searches", async () => {
    const ssn = await client.tokens.create({ type: "social_security_number", data: "123-45-6789" });
    for (const value of ["123-45-6789", "123456789", "6789"]) {
      const found = await client.tokens.search({ query: `data:${value}`, page: 1, size: 10 });
      expect(found.pagination).toMatchObject({ totalItems: 1, pageNumber: 1, pageSize: 10, totalPages: 1 });
      expect(found.data.map(({ id }) => id)).toEqual([ssn.id]);
    }
    expect(await thrownBy(client.tokens.search({ query: "data:" }))).toMatchObject({
      status: 400,
      data: { errors: { query: [expect.any(String)] } },
    });
  });

  it("tokenizes", async () => {
    const made = await client.tokenize({
      first_name: "Ada",
      camelCase: { type: "card", data: CARD },
      list: ["a", "b"],
    });
    expect(made).toMatchObject({
      first_name: expect.any(String),
      camelCase: { type: "card", data: MASKED },
      list: [expect.any(String), expect.any(String)],
    });
  });

  // It sends a bare string as form data, which a server cannot tell from a form.
  it("cannot tokenize a bare string: a known exception", async () => {
    const error = await thrownBy(client.tokenize(Object("text").valueOf()));
    expect(error).toMatchObject({ status: 400 });
  });

  it("creates and authorizes sessions", async () => {
    const page = await olderClient((await tenant.application({ type: "public", permissions: ["token:create"] })).key);
    const { sessionKey, nonce, expiresAt } = await page.sessions.create();
    expect(expiresAt).toMatch(TIME);
    const { id } = await client.tokens.create({ type: "token", data: "x", mask: "***" });
    await client.sessions.authorize({ nonce, permissions: ["token:read"] });
    const visitor = await olderClient(sessionKey);
    await expect(visitor.tokens.retrieve(id)).resolves.toMatchObject({ data: "***" });
    await expect(client.tokens.retrieve(id, { apiKey: sessionKey })).resolves.toMatchObject({ data: "***" });
    expect(await thrownBy(client.sessions.authorize({ nonce, permissions: ["token:read"] }))).toMatchObject({
      status: 409,
    });
  });

  it("replays under an idempotency key, and sends its correlation id", async () => {
    const options = { idempotencyKey: crypto.randomUUID(), correlationId: "trace-of-the-test" };
    const first = await client.tokens.create({ type: "token", data: "one" }, options);
    expect((await client.tokens.create({ type: "token", data: "two" }, options)).id).toBe(first.id);
  });

  it("throws every error as its own class, with the body", async () => {
    const unknownKey = await olderClient("key_test_pvt_unknown");
    const clerk = await olderClient((await tenant.application({ type: "private", permissions: ["token:create"] })).key);
    const { id } = await client.tokens.create({ type: "token", data: "x" });
    const cases: [() => Promise<unknown>, number][] = [
      [() => client.tokens.create({ type: "card", data: Object({ number: "1" }) }), 400],
      [() => unknownKey.tokens.retrieve(id), 401],
      [() => clerk.tokens.retrieve(id), 403],
      [() => client.tokens.retrieve("not-there"), 404],
      [() => client.tokens.create({ id, type: "token", data: "y" }), 409],
    ];
    for (const [call, status] of cases) {
      const error = await thrownBy(call());
      expect(error).toBeInstanceOf(BasisTheoryApiError);
      expect(error).toMatchObject({ status, data: { status, title: expect.any(String), detail: expect.any(String) } });
    }
    const error = await thrownBy(client.tokens.create({ type: "card", data: Object({ number: "1" }) }));
    expect(error).toMatchObject({ data: { errors: { dataNumber: [expect.any(String)] } } });
  });
});
