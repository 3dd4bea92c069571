import { beforeAll, describe, expect, it } from "vitest";
import { connect, openShop, type Shop } from "../../support/payments.js";

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});

const capture = (id: string, body: object = {}, key?: string) =>
  shop.backEnd("POST", `/orchestration/transactions/${id}/capture`, {
    body,
    ...(key ? { headers: { "BT-IDEMPOTENCY-KEY": key } } : {}),
  });
const cancel = (id: string) => shop.backEnd("POST", `/orchestration/transactions/${id}/void`);
const refund = (id: string, body: object = {}) =>
  shop.backEnd("POST", `/orchestration/transactions/${id}/refunds`, { body });
const read = async (id: string) => (await shop.backEnd("GET", `/orchestration/transactions/${id}`)).body;

describe("an authorization", () => {
  it("may have any amount that JSON numbers represent exactly", async () => {
    const amount = Number.MAX_SAFE_INTEGER;
    const { status, body } = await shop.pay({ amount });
    expect({ status, amount: body.amount, authorized: body.authorized_amount }).toEqual({
      status: 201,
      amount,
      authorized: amount,
    });
    expect((await capture(body.id, { amount })).body).toMatchObject({
      status: "capture_succeeded",
      captured_amount: amount,
    });
    expect((await refund(body.id, { amount: amount - 1 })).body).toMatchObject({
      status: "succeeded",
      amount: amount - 1,
    });
    expect(await read(body.id)).toMatchObject({ captured_amount: amount, refunded_amount: amount - 1 });
    const refused = await shop.backEnd("POST", "/orchestration/transactions", { raw: '{"amount":9007199254740992}' });
    expect(refused).toMatchObject({ status: 400, body: { errors: { amount: [expect.any(String)] } } });
  });

  it("returns the documented transaction", async () => {
    const token = await shop.card();
    const { status, body } = await shop.pay({
      token,
      external_identifier: "order-1",
      metadata: { n: 1 },
      country: "US",
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      type: "transaction",
      status: "authorization_succeeded",
      intent: "authorize",
      intent_outcome: "succeeded",
      ...{ amount: 1000, currency: "USD", country: "US" },
      ...{ authorized_amount: 1000, captured_amount: 0, refunded_amount: 0 },
      external_identifier: "order-1",
      metadata: { n: 1 },
      auth_response_code: "00",
      cvv_response_code: "match",
      reconciliation_id: expect.stringMatching(/^\w{22}$/),
      scheme_transaction_id: expect.stringMatching(/^\d{15}$/),
      connection_transaction_id: `sim_${body.reconciliation_id}`,
      connection: {
        ...{ type: "connection", id: shop.connectionId, connection_formula_id: "simulator-card" },
        ...{ method: "card", display_name: "Simulator" },
      },
      payment_method: {
        ...{ type: "payment-method", method: "card", mode: "card", token },
        ...{ label: "4242", scheme: "visa", expiration_date: "12/30", details: { bin: "42424242" } },
      },
    });
    expect(body.authorized_at).toMatch(/\.\d{3}Z$/);
    expect(await read(body.id)).toEqual(body);
  });

  it("destroys the verification code, and leaves it after a decline", async () => {
    const [good, bad] = [await shop.card(), await shop.card("4000000000000002")];
    const cvcOf = async (token: string) => {
      const seeing = await shop.tenant.backEnd();
      return (await seeing("GET", `/tokens/${token}`)).body.data.cvc;
    };
    await shop.pay({ token: good });
    await shop.pay({ token: bad });
    expect(await cvcOf(good)).toBeUndefined();
    expect(await cvcOf(bad)).toBe("123");
  });

  it.each([
    ["4000000000000002", "authorization_declined", "issuer_decline", "05"],
    ["4000000000009995", "authorization_declined", "insufficient_funds", "51"],
    ["4000000000000119", "authorization_failed", "service_error", "96"],
  ])("with the number %s is %s", async (number, status, code, response) => {
    const { status: http, body } = await shop.pay({}, number);
    expect(http).toBe(201);
    expect(body).toMatchObject({ status, error_code: code, auth_response_code: response, intent_outcome: "failed" });
    expect(body.authorized_amount).toBe(0);
    expect((await capture(body.id)).status).toBe(409);
    expect((await cancel(body.id)).status).toBe(409);
  });

  it.each([
    [200012, "authorization_declined", "issuer_decline"],
    [300015, "authorization_failed", "service_rate_limit"],
    [400012, "authorization_failed", "unsupported_currency"],
  ])("over %d is %s: %s", async (amount, status, code) => {
    expect((await shop.pay({ amount })).body).toMatchObject({ status, error_code: code });
  });

  it("covers half the amount if the service approves no more", async () => {
    expect((await shop.pay({ amount: 600006 })).body).toMatchObject({
      status: "authorization_succeeded",
      amount: 600006,
      authorized_amount: 300003,
    });
  });

  it("waits for a connection that was just created", async () => {
    const connection_id = await connect(shop.tenant);
    expect((await shop.pay({ connection_id })).body.status).toBe("authorization_succeeded");
  });
});

// Each has a payment of its own, and some wait for theirs.
describe.concurrent("a capture", () => {
  it("takes the whole authorized amount, or a part and no more after it", async () => {
    const { id } = (await shop.pay()).body;
    expect((await capture(id)).body).toMatchObject({ status: "capture_succeeded", captured_amount: 1000 });
    const part = (await shop.pay()).body;
    expect((await capture(part.id, { amount: 400 })).body).toMatchObject({
      captured_amount: 400,
      authorized_amount: 1000,
    });
    expect((await capture(part.id, { amount: 100 })).status).toBe(409);
  });

  it("happens at once if the intent says so", async () => {
    const { body } = await shop.pay({ intent: "capture" });
    expect(body).toMatchObject({ status: "capture_succeeded", captured_amount: 1000, intent_outcome: "succeeded" });
  });

  it("is rejected above what was authorized, and changes nothing", async () => {
    const before = (await shop.pay()).body;
    const { status, body } = await capture(before.id, { amount: 1001 });
    expect(status).toBe(400);
    expect(body.errors.amount[0]).toContain("1000");
    expect((await capture(before.id, { amount: 0 })).status).toBe(400);
    expect(await read(before.id)).toEqual(before);
  });

  it("leaves the authorization, with the reason, if the service refuses it", async () => {
    const { id } = (await shop.pay({}, "4000000000000341")).body;
    const { status, body } = await capture(id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "authorization_succeeded", error_code: "issuer_decline", captured_amount: 0 });
    expect((await cancel(id)).body.status).toBe("authorization_voided");
  });

  it("in parallel happens exactly once", async () => {
    const { id } = (await shop.pay()).body;
    const responses = await Promise.all(Array.from({ length: 12 }, () => capture(id)));
    const statuses = responses.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 11 }, () => 409)]);
    expect(await read(id)).toMatchObject({ status: "capture_succeeded", captured_amount: 1000 });
  });

  it("is pending and then succeeds if it is asynchronous", async () => {
    const { body } = await shop.pay({ amount: 600007, intent: "capture" });
    expect(body).toMatchObject({ status: "capture_pending", intent_outcome: "pending" });
    expect(await shop.until(body.id, "capture_succeeded")).toMatchObject({
      captured_amount: 600007,
      intent_outcome: "succeeded",
    });
  });
});

describe.concurrent("a void", () => {
  it("releases the authorization, once, and never what was captured", async () => {
    const { id } = (await shop.pay()).body;
    const { status, body } = await cancel(id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "authorization_voided", intent_outcome: "succeeded", captured_amount: 0 });
    expect(body.voided_at).toEqual(expect.any(String));
    expect((await cancel(id)).status).toBe(409);
    expect((await capture(id)).status).toBe(409);
    const taken = (await shop.pay({ intent: "capture" })).body;
    expect((await cancel(taken.id)).status).toBe(409);
  });

  it("is pending and then done if it is asynchronous", async () => {
    const { id } = (await shop.pay({ amount: 600008 })).body;
    expect((await cancel(id)).body.status).toBe("authorization_void_pending");
    await shop.until(id, "authorization_voided");
  });

  it("is rejected for a zero-amount authorization", async () => {
    const { id, status } = (await shop.pay({ amount: 0 })).body;
    expect(status).toBe("authorization_succeeded");
    expect((await cancel(id)).status).toBe(409);
  });

  it("still works after the token is deleted", async () => {
    const token = await shop.card();
    const { id } = (await shop.pay({ token })).body;
    const seeing = await shop.tenant.backEnd();
    expect((await seeing("DELETE", `/tokens/${token}`)).status).toBe(204);
    expect((await cancel(id)).body.status).toBe("authorization_voided");
  });
});

describe("refunds", () => {
  it("return what was captured, part by part, and no more", async () => {
    const { id } = (await shop.pay({ intent: "capture" })).body;
    const first = await refund(id, { amount: 300, reason: "broken" });
    expect(first.status).toBe(201);
    expect(first.body).toMatchObject({
      ...{ type: "refund", transaction_id: id, status: "succeeded", amount: 300, currency: "USD", reason: "broken" },
      connection_refund_id: expect.stringMatching(/^sim_/),
    });
    expect((await refund(id, { amount: 701 })).status).toBe(400);
    expect((await refund(id)).body.amount).toBe(700);
    expect((await refund(id)).status).toBe(409);
    expect(await read(id)).toMatchObject({ status: "capture_succeeded", refunded_amount: 1000 });
    const { body } = await shop.backEnd("GET", `/orchestration/transactions/${id}/refunds`);
    expect(body.data.map(({ amount }: { amount: number }) => amount)).toEqual([700, 300]);
    const one = await shop.backEnd("GET", `/orchestration/refunds/${first.body.id}`);
    expect(one.body).toEqual(first.body);
  });

  it("change nothing if they are declined", async () => {
    const { id } = (await shop.pay({ amount: 520002, intent: "capture" })).body;
    expect((await refund(id)).body).toMatchObject({ status: "declined", error_code: "issuer_decline" });
    expect((await read(id)).refunded_amount).toBe(0);
  });

  it("are rejected for what was not captured", async () => {
    expect((await refund((await shop.pay()).body.id)).status).toBe(409);
  });
});

describe("an idempotency key", () => {
  it("charges once and returns the same, also for a decline", async () => {
    for (const number of ["4242424242424242", "4000000000000002"]) {
      const token = await shop.card(number);
      const body = { amount: 700, currency: "USD", connection_id: shop.connectionId, token };
      const headers = { "BT-IDEMPOTENCY-KEY": `key-${number}` };
      const first = await shop.backEnd("POST", "/orchestration/transactions", { body, headers });
      const again = await shop.backEnd("POST", "/orchestration/transactions", {
        body: { ...body, amount: 9 },
        headers,
      });
      expect(again.status).toBe(201);
      expect(again.body).toEqual(first.body);
    }
  });

  it("replays the response of a capture", async () => {
    const { id } = (await shop.pay()).body;
    const first = await capture(id, {}, "cap");
    expect(first.status).toBe(200);
    expect((await capture(id, {}, "cap")).body).toEqual(first.body);
  });

  it("is not used up by a rejected request", async () => {
    const token = await shop.card();
    const headers = { "BT-IDEMPOTENCY-KEY": "after-a-refusal" };
    const body = { amount: 5, currency: "EUR", connection_id: shop.connectionId, token };
    expect((await shop.backEnd("POST", "/orchestration/transactions", { body, headers })).status).toBe(400);
    const fixed = { ...body, currency: "USD" };
    expect((await shop.backEnd("POST", "/orchestration/transactions", { body: fixed, headers })).status).toBe(201);
  });

  it("sent in twenty concurrent requests creates one transaction", async () => {
    const token = await shop.card();
    const body = { amount: 77, currency: "USD", connection_id: shop.connectionId, token, external_identifier: "once" };
    const headers = { "BT-IDEMPOTENCY-KEY": "twenty" };
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => shop.backEnd("POST", "/orchestration/transactions", { body, headers })),
    );
    for (const { status } of responses) expect([201, 409]).toContain(status);
    const { body: list } = await shop.backEnd("GET", "/orchestration/transactions?external_identifier=once");
    expect(list.pagination.total_items).toBe(1);
  });
});

describe("the list", () => {
  it("filters by status, by the caller's reference and by ours", async () => {
    const made = (await shop.pay({ external_identifier: "findable" })).body;
    await cancel(made.id);
    const find = async (query: string) =>
      (await shop.backEnd("GET", `/orchestration/transactions?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await find("external_identifier=findable")).toEqual([made.id]);
    expect(await find(`reconciliation_id=${made.reconciliation_id}`)).toEqual([made.id]);
    expect(await find("status=authorization_voided&size=1")).toEqual([made.id]);
    expect(await find("external_identifier=findable&status=processing")).toEqual([]);
  });

  it("lists the valid statuses if the requested one is unknown", async () => {
    const { status, body } = await shop.backEnd("GET", "/orchestration/transactions?status=paid");
    expect(status).toBe(400);
    expect(body.errors.status[0]).toContain("capture_succeeded");
  });

  it("shows a caller the payments of tokens that it may use, and no others", async () => {
    const { id } = (await shop.pay()).body;
    const elsewhere = await shop.tenant.application({
      type: "private",
      rules: [{ priority: 1, container: "/other/", transform: "reveal", permissions: ["token:use"] }],
    });
    expect((await elsewhere("GET", "/orchestration/transactions")).body.pagination.total_items).toBe(0);
    expect((await elsewhere("GET", `/orchestration/transactions/${id}`)).status).toBe(403);
    expect((await elsewhere("POST", `/orchestration/transactions/${id}/void`)).status).toBe(403);
  });
});

it("accepts currency and country codes in lower case, and shows them in upper case", async () => {
  const { status, body } = await shop.pay({ currency: "usd", country: "us" });
  expect(status).toBe(201);
  expect(body).toMatchObject({ currency: "USD", country: "US", status: "authorization_succeeded" });
});

describe("bad input", () => {
  it.each([
    ["an unknown token", { token: "d2cbc1b4-5c3a-45a3-9ee2-392a1c475ab4" }, "token"],
    ["an unknown connection", { connection_id: "d2cbc1b4-5c3a-45a3-9ee2-392a1c475ab4" }, "connection_id"],
    ["another currency", { currency: "EUR" }, "currency"],
    ["another country", { country: "DE" }, "country"],
    ["no amount", { amount: undefined }, "amount"],
    ["an invalid currency", { currency: "us" }, "currency"],
    ["a negative amount", { amount: -1 }, "amount"],
    ["a capture of nothing", { amount: 0, intent: "capture" }, "amount"],
    ["an unknown intent", { intent: "sale" }, "intent"],
    ["a merchant's ecommerce", { merchant_initiated: true }, "merchant_initiated"],
    [
      "a first recurring one by the merchant",
      { merchant_initiated: true, payment_source: "recurring" },
      "is_subsequent_payment",
    ],
    ["an invalid session", { three_d_session_id: { id: 7 } }, "three_d_session_id"],
    ["an unknown session", { three_d_session_id: "d2cbc1b4-5c3a-45a3-9ee2-392a1c475ab4" }, "three_d_session_id"],
  ])("%s is a 400 that names the field, and leaves nothing behind", async (_, change, field) => {
    const count = async () =>
      (await shop.backEnd("GET", "/orchestration/transactions?size=1")).body.pagination.total_items;
    const before = await count();
    const { status, body } = await shop.pay(change);
    expect(status).toBe(400);
    expect(Object.keys(body.errors)).toEqual([field]);
    expect(await count()).toBe(before);
  });

  it("a token of another type, or a card without its expiry, is rejected", async () => {
    const text = await shop.backEnd("POST", "/tokens", { body: { type: "token", data: "4242424242424242" } });
    expect((await shop.pay({ token: text.body.id })).body.errors.token[0]).toContain("card");
    const data = { number: "4242424242424242" };
    const bare = await shop.backEnd("POST", "/tokens", { body: { type: "card", data } });
    expect((await shop.pay({ token: bare.body.id })).body.errors.token[0]).toContain("expiry");
  });

  it("a connection that is switched off, or whose credentials failed, is rejected", async () => {
    const off = await connect(shop.tenant, [], { active: false });
    const failed = await connect(shop.tenant, [{ key: "verify_result", value: "failed" }]);
    for (const connection_id of [off, failed]) {
      expect(Object.keys((await shop.pay({ connection_id })).body.errors)).toEqual(["connection_id"]);
    }
  });

  it("a connection that now leads to another service is not used for older payments", async () => {
    const connection_id = await connect(shop.tenant);
    const { id } = (await shop.pay({ connection_id })).body;
    // The service never saw it: asked again, it would charge there.
    const lost = (await shop.pay({ connection_id, amount: 600002 })).body;
    const turned = await shop.tenant.manage("PUT", `/orchestration/connections/${connection_id}`, {
      body: {
        ...{ connection_formula_id: "stripe-card", method: "card", display_name: "Stripe", active: false },
        fields: [{ key: "secret_key", value: "sk_test_nobody_has_this" }],
        ...{ accepted_countries: ["US"], accepted_currencies: ["USD"] },
      },
    });
    expect(turned.status).toBe(200);
    const refused = await capture(id);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining("another payment service")]);
    const synced = await shop.backEnd("POST", `/orchestration/transactions/${lost.id}/sync`);
    expect(synced.body).toMatchObject({ status: "processing", raw_response_code: "connection_lost" });
  });

  it("a key without the permission to use the token is rejected, and the refusal is logged", async () => {
    const token = await shop.card();
    const elsewhere = await shop.tenant.application({
      type: "private",
      rules: [{ priority: 1, container: "/other/", transform: "reveal", permissions: ["token:use"] }],
    });
    const body = { amount: 1, currency: "USD", connection_id: shop.connectionId, token };
    expect((await elsewhere("POST", "/orchestration/transactions", { body })).status).toBe(403);
    const { body: logs } = await shop.tenant.manage("GET", `/logs?entity_id=${token}`);
    expect(logs.data.map(({ operation }: { operation: string }) => operation)).toContain("refuse");
  });
});

describe("the log", () => {
  it("has a row for the payment and one for the use of its token, and holds no card", async () => {
    const token = await shop.card();
    const { id } = (await shop.pay({ token })).body;
    const { body: used } = await shop.tenant.manage("GET", `/logs?entity_id=${token}`);
    expect(used.data.map(({ operation }: { operation: string }) => operation)).toEqual(["use", "create"]);
    const { body: paid } = await shop.tenant.manage("GET", `/logs?entity_id=${id}`);
    const messages = paid.data.map(({ message }: { message: string }) => message);
    expect(messages).toEqual(["Transaction updated: authorization_succeeded", "Transaction created"]);
  });
});
