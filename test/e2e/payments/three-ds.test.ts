import { beforeAll, describe, expect, it } from "vitest";
import { openShop, PAYING, type Shop } from "../../support/payments.js";
import type { RestClient } from "../../support/rest.js";

let shop: Shop;
let client: RestClient;
beforeAll(async () => {
  shop = await openShop();
  const sessions = ["3ds:session:create", "3ds:session:read", "3ds:session:authenticate"];
  const permissions = [...PAYING, "token:update", ...sessions];
  client = await shop.tenant.application({ type: "private", permissions });
});

const PURCHASE = { amount: "1000", currency: "840", exponent: "2", date: "20260102030405" };
const AUTHENTICATION = {
  authentication_category: "payment",
  authentication_type: "payment-transaction",
  cardholder_info: { name: "Ada" },
  purchase_info: PURCHASE,
};

async function session(number?: string) {
  const token_id = await shop.card(number);
  const { status, body } = await client("POST", "/3ds/sessions", { body: { token_id, device: "browser" } });
  expect(status).toBe(201);
  return { id: String(body.id), token: token_id, made: body };
}

const authenticate = (id: string, change: object = {}) =>
  client("POST", `/3ds/sessions/${id}/authenticate`, { body: { ...AUTHENTICATION, ...change } });

describe("a 3DS session", () => {
  it("is created for a card, lasts a day, and is authenticated without a challenge", async () => {
    const { id, token, made } = await session();
    expect(made).toMatchObject({ id, type: "customer", cardBrand: "visa", recommended_version: "2.2.0" });
    const { body } = await authenticate(id);
    expect(body).toMatchObject({
      ...{ token_id: token, authentication_status: "successful", authentication_status_code: "Y", eci: "05" },
      liability_shifted: true,
    });
    expect(Buffer.from(body.authentication_value, "base64").length).toBe(20);
    const read = (await client("GET", `/3ds/sessions/${id}`)).body;
    expect(read).toMatchObject({ id, token_id: token, pan_token_id: token, device: "browser", authentication: body });
    expect(Date.parse(read.expiration_date) - Date.parse(read.created_date)).toBe(86_400_000);
    expect((await authenticate(id)).status).toBe(409);
  });

  it("counts as the card's brand defines", async () => {
    const { id } = await session("5555555555554444");
    expect((await authenticate(id)).body).toMatchObject({ eci: "02", authentication_status: "successful" });
  });

  it.each([
    ["approve", "successful", "Y", undefined],
    ["fail", "failed", "N", undefined],
    ["cancel", "failed", "N", "cardholder-canceled"],
  ])("with a challenge that the cardholder ends by %s is %s", async (choice, status, code, reason) => {
    const { id } = await session("4000000000003220");
    const { body } = await authenticate(id);
    expect(body).toMatchObject({ authentication_status: "challenge", acs_challenge_mandated: "Y" });
    const open = await client("GET", `/3ds/sessions/${id}/challenge-result`);
    expect(open.body.authentication_status).toBe("challenge");
    expect(await (await fetch(body.acs_challenge_url)).text()).toContain(`value="${choice}"`);
    const ended = await fetch(body.acs_challenge_url, { method: "POST", body: new URLSearchParams({ choice }) });
    expect(ended.status).toBe(200);
    const result = (await client("GET", `/3ds/sessions/${id}/challenge-result`)).body;
    expect(result).toMatchObject({
      authentication_status: status,
      authentication_status_code: code,
      challenge_attempts: "01",
    });
    expect(result.challenge_cancel_reason ?? undefined).toBe(reason);
    expect(result.acs_challenge_url ?? undefined).toBeUndefined();
  });

  it("serves one payment of its card, up to its amount, in either spelling, and replaces the challenge", async () => {
    const { id, token } = await session("4000000000003220");
    const { body } = await authenticate(id);
    expect(Object.keys((await shop.pay({ token, three_d_session_id: id })).body.errors)).toEqual([
      "three_d_session_id",
    ]);
    await fetch(body.acs_challenge_url, { method: "POST", body: new URLSearchParams({ choice: "approve" }) });
    for (const wrong of [{ amount: 1001 }, { token: await shop.card() }, { currency: "JPY" }]) {
      const refused = await shop.pay({ token, three_d_session_id: { id }, ...wrong });
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ["three_d_session_id"]]);
    }
    const paid = await shop.pay({ token, three_d_session_id: { id } });
    expect(paid.body).toMatchObject({
      status: "authorization_succeeded",
      three_d_secure: { status: "complete", method: "challenge", version: "2.2.0" },
    });
    const again = await shop.pay({ token, three_d_session_id: id });
    expect(again.body.errors.three_d_session_id[0]).toContain("has not been used");
  });

  describe("has one card, and its token another later", () => {
    const change = (token: string, number: string) =>
      client("PATCH", `/tokens/${token}`, {
        headers: { "Content-Type": "application/merge-patch+json" },
        body: { data: { number } },
      });

    it("serves no payment, until the token has the card that was authenticated", async () => {
      const { id, token } = await session("5555555555554444");
      expect((await authenticate(id)).body.authentication_status).toBe("successful");
      expect((await change(token, "4111111111111111")).status).toBe(200);
      const refused = await shop.pay({ token, three_d_session_id: id });
      expect([refused.status, refused.body.errors]).toEqual([
        400,
        { three_d_session_id: [expect.stringContaining("the card that the token holds now")] },
      ]);
      expect((await change(token, "5555555555554444")).status).toBe(200);
      expect((await shop.pay({ token, three_d_session_id: id })).body.status).toBe("authorization_succeeded");
    });

    it("fails with its challenge", async () => {
      const { id, token } = await session("4000000000003220");
      const { body } = await authenticate(id);
      expect((await change(token, "4111111111111111")).status).toBe(200);
      await fetch(body.acs_challenge_url, { method: "POST", body: new URLSearchParams({ choice: "approve" }) });
      expect((await client("GET", `/3ds/sessions/${id}/challenge-result`)).body.authentication_status).toBe("failed");
    });
  });

  it("serves no payment after it failed", async () => {
    const { id, token } = await session("4000000000000002");
    expect((await authenticate(id)).body.authentication_status).toBe("rejected");
    expect(Object.keys((await shop.pay({ token, three_d_session_id: id })).body.errors)).toEqual([
      "three_d_session_id",
    ]);
  });
});

describe("bad input", () => {
  it("names the field", async () => {
    const text = (await client("POST", "/tokens", { body: { type: "token", data: "x" } })).body.id;
    for (const body of [{}, { token_id: "nothing" }, { token_id: text }]) {
      expect(Object.keys((await client("POST", "/3ds/sessions", { body })).body.errors)).toEqual(["token_id"]);
    }
    const { id } = await session();
    const refused = await authenticate(id, { purchase_info: undefined });
    expect(Object.keys(refused.body.errors)).toEqual(["purchase_info"]);
    expect((await authenticate(id, { authentication_category: "gift" })).status).toBe(400);
  });

  it("returns 404 for an unknown session, and for another tenant's", async () => {
    const unknown = "d2cbc1b4-5c3a-45a3-9ee2-392a1c475ab4";
    for (const path of [`/3ds/sessions/${unknown}`, `/3ds/sessions/${unknown}/challenge-result`]) {
      expect((await client("GET", path)).status).toBe(404);
    }
    expect((await authenticate(unknown)).status).toBe(404);
    expect((await fetch(`${shop.tenant.url}/3ds/challenges/${"0".repeat(66)}`)).status).toBe(404);
  });
});
