import { beforeAll, describe, expect, it } from "vitest";
import { openShop, type Shop } from "../../support/payments.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { withoutIds } from "../../support/without-ids.js";

/** Whether a response with payments has the first or last digits of a card, or its date. */
const showsDigits = ({ body }: { readonly body: unknown }) => /4242|12\/30/.test(withoutIds(body));
const CAPTURE = "orchestration:transaction:capture";

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});

const rule = (container: string, transform: string) => ({
  priority: 1,
  container,
  transform,
  permissions: ["token:use"],
});
const cardIn = async (container: string): Promise<string> => {
  const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
  const body = { type: "card", data, containers: [container] };
  return (await (await shop.tenant.backEnd())("POST", "/tokens", { body })).body.id;
};
const pay = (client: RestClient, token: string, headers = {}) =>
  client("POST", "/orchestration/transactions", {
    body: { amount: 1000, currency: "USD", connection_id: shop.connectionId, token },
    headers,
  });
/** Replaces the rights of an application. */
async function give(id: string, rights: object): Promise<void> {
  const { status, body } = await shop.tenant.manage("PUT", `/applications/${id}`, { body: { name: "P", ...rights } });
  expect(status, JSON.stringify(body)).toBe(200);
}

describe("a caller whose rule for the card has become redact", () => {
  it("sees no digits in any response with its payment, also not in a repeated one", async () => {
    const payer = await shop.tenant.application({
      type: "private",
      permissions: [CAPTURE],
      rules: [rule("/pci/", "reveal")],
    });
    const token = await cardIn("/pci/");
    const once = { "BT-IDEMPOTENCY-KEY": "pay once" };
    const first = await pay(payer, token, once);
    expect(showsDigits(first)).toBe(true);
    const at = `/orchestration/transactions/${first.body.id}`;
    const captured = await payer("POST", `${at}/capture`, { body: {}, headers: once });
    expect(showsDigits(captured)).toBe(true);
    const second = await pay(payer, await cardIn("/pci/"));
    const voided = await payer("POST", `/orchestration/transactions/${second.body.id}/void`, { headers: once });
    expect(showsDigits(voided)).toBe(true);

    await give(payer.id, { permissions: [CAPTURE], rules: [rule("/pci/", "redact")] });
    const responses = [
      await payer("GET", at),
      await payer("GET", "/orchestration/transactions"),
      await pay(payer, token, once),
      await payer("POST", `${at}/capture`, { body: {}, headers: once }),
      await payer("POST", `/orchestration/transactions/${second.body.id}/void`, { headers: once }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 201, 200, 200]);
    expect(responses.filter(showsDigits)).toEqual([]);
    const [read, , paid, taken, released] = responses.map(({ body }) => body);
    for (const { payment_method: shown } of [read, paid, taken, released]) {
      expect(shown).toMatchObject({ type: "payment-method", method: "card", details: {} });
    }
    expect(paid.status).toBe(first.body.status);

    await give(payer.id, { permissions: [CAPTURE], rules: [rule("/pci/", "mask")] });
    expect(await pay(payer, token, once)).toMatchObject({ status: 201, body: first.body });
  });
});

it("a key that captures, and may not use the card's token, sees no digits", async () => {
  const clerk = await shop.tenant.application({ type: "private", permissions: [CAPTURE] });
  const { body: payment } = await shop.pay();
  const at = `/orchestration/transactions/${payment.id}/capture`;
  const headers = { "BT-IDEMPOTENCY-KEY": "capture once" };
  for (const attempt of ["first", "repeated"]) {
    const { status, body } = await clerk("POST", at, { body: {}, headers });
    expect([attempt, status, body.status]).toEqual([attempt, 200, "capture_succeeded"]);
    expect(showsDigits({ body })).toBe(false);
  }
});

describe("the list of payments of a session", () => {
  /** What an authorizer that may use all tokens gives a new session, and the payments that this one lists. */
  async function listing(rights: object) {
    const authorizer = await shop.tenant.application({ type: "private", permissions: ["token:use"] });
    const page = await shop.tenant.application({ type: "public", permissions: ["token:create"] });
    const { body: session } = await page("POST", "/sessions");
    const authorized = await authorizer("POST", "/sessions/authorize", { body: { nonce: session.nonce, ...rights } });
    expect(authorized.status, JSON.stringify(authorized.body)).toBe(200);
    const client = restClient(shop.tenant.url, session.session_key);
    const listed = async (): Promise<string[]> =>
      (await client("GET", "/orchestration/transactions")).body.data.map(({ id }: { id: string }) => id);
    return { authorizer, client, listed };
  }

  it("has those that its authorizer may now use", async () => {
    const { authorizer, listed } = await listing({ permissions: ["token:use"] });
    const [low, high] = [await pay(authorizer, await cardIn("/low/")), await pay(authorizer, await cardIn("/high/"))];
    expect(await listed()).toEqual(expect.arrayContaining([low.body.id, high.body.id]));
    await give(authorizer.id, { rules: [rule("/low/", "mask")] });
    expect(await listed()).toEqual([low.body.id]);
  });

  it("has those that meet all conditions of a rule", async () => {
    const conditions = ["/deep/inner/", "/deep/"].map((value) => ({
      ...{ attribute: "container", operator: "starts_with", value },
    }));
    const deep = { priority: 1, conditions, transform: "mask", permissions: ["token:use"] };
    const { authorizer, client, listed } = await listing({ rules: [deep] });
    const inner = await pay(authorizer, await cardIn("/deep/inner/"));
    const outer = await pay(authorizer, await cardIn("/deep/"));
    expect(await listed()).toEqual([inner.body.id]);
    expect((await client("GET", `/orchestration/transactions/${outer.body.id}`)).status).toBe(403);
  });
});
