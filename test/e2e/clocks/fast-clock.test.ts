import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openShop, type Shop } from "../../support/payments.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";

const HOUR = 3_600_000;

describe("a server whose clock runs a day fast, next to a database whose clock is right", () => {
  let ahead = 0;
  let server: ServerHere;
  let shop: Shop;
  beforeAll(async () => {
    server = await startServerHere({ LOG_LEVEL: "error" }, { clock: { now: () => Date.now() + ahead } });
    shop = await openShop([], await newTenant(server.url, server.environment));
  });
  beforeEach(() => {
    ahead = 0;
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
  });

  it("replays earlier responses: no payment is made twice", async () => {
    const headers = { "BT-IDEMPOTENCY-KEY": "order-1" };
    const body = {
      ...{ amount: 1000, currency: "USD", connection_id: shop.connectionId, token: await shop.card() },
    };
    const pay = () => shop.backEnd("POST", "/orchestration/transactions", { body, headers });
    const create = () => shop.backEnd("POST", "/tokens", { body: { type: "token", data: 1 }, headers });
    const first = [await pay(), await create()];
    expect(first.map(({ status }) => status)).toEqual([201, 201]);
    ahead = 25 * HOUR;
    const repeats = [await pay(), await create()];
    ahead = 0;
    expect(repeats.map(({ body: { id } }) => id)).toEqual(first.map(({ body: { id } }) => id));
    expect(repeats.map(({ headers: sent }) => sent.get("bt-idempotency-replayed"))).toEqual(["true", "true"]);
  });

  it("hides tokens as expired, but still has them for another that wants their id or content", async () => {
    const backEnd = await shop.tenant.backEnd();
    const expires_at = new Date(Date.now() + HOUR).toISOString();
    const token = { id: "wanted", type: "token", data: "a value", deduplicate_token: true };
    expect((await backEnd("POST", "/tokens", { body: { ...token, expires_at } })).status).toBe(201);
    const other = await backEnd("POST", "/tokens", { body: { type: "token", data: "other", deduplicate_token: true } });
    const change = () =>
      backEnd("PATCH", `/tokens/${other.body.id}`, {
        body: { data: "a value" },
        headers: { "content-type": "application/merge-patch+json" },
      });
    ahead = 2 * HOUR;
    expect((await backEnd("GET", "/tokens/wanted")).status).toBe(404);
    const again = await backEnd("POST", "/tokens", { body: token });
    expect(again.body).toMatchObject({ id: "wanted", _extras: { deduplicated: true } });
    const taken = await backEnd("POST", "/tokens", { body: { id: "wanted", type: "token", data: "a new value" } });
    expect([taken.status, taken.body.code]).toEqual([409, "already_exists"]);
    expect((await change()).body.id).toBe("wanted");
    ahead = 0;
    expect((await backEnd("GET", "/tokens/wanted")).body.data).toBe("a value");
  });
});
