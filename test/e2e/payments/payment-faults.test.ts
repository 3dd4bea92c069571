import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openShop, type Shop } from "../../support/payments.js";
import { openStored, type Stored } from "../../support/stored.js";

let shop: Shop;
let stored: Stored;
beforeAll(async () => {
  [shop, stored] = await Promise.all([openShop(), openStored()]);
});
afterAll(() => stored[Symbol.asyncDispose]());

/** How often the bank's own books hold, take and return money of a payment. */
async function booked(reconciliationId: string) {
  const text = await stored.textOf(shop.tenant.id, "simulator_payments");
  const page = text.split("\n").find((row) => row.includes(reconciliationId)) ?? "";
  const count = (kind: string) => page.split(`""kind"": ""${kind}""`).length - 1;
  return { authorization: count("authorization"), capture: count("capture"), void: count("void") };
}

describe("a lost response", () => {
  it.each([
    [600001, "the connection was lost after the charge"],
    [600002, "the connection was lost before the charge"],
    [600003, "the service returned 500, and charged"],
    [600004, "the response made no sense"],
    [600005, "the response came too late"],
  ])("%d: %s: the payment is charged exactly once in the end", async (amount) => {
    const { status, body } = await shop.pay({ amount });
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: "processing", intent_outcome: "pending" });
    // While the outcome is unknown, no other step is possible.
    expect((await shop.backEnd("POST", `/orchestration/transactions/${body.id}/capture`, { body: {} })).status).toBe(
      409,
    );
    expect((await shop.backEnd("POST", `/orchestration/transactions/${body.id}/sync`)).status).toBe(200);
    const after = await shop.until(body.id, "authorization_succeeded");
    expect(after.authorized_amount).toBe(amount);
    expect(await booked(body.reconciliation_id)).toEqual({ authorization: 1, capture: 0, void: 0 });
  });

  it("is reconciled without a request", async () => {
    const { body } = await shop.pay({ amount: 600001, intent: "capture" });
    const after = await shop.until(body.id, "capture_succeeded");
    expect(after.captured_amount).toBe(600001);
    expect(await booked(body.reconciliation_id)).toEqual({ authorization: 1, capture: 1, void: 0 });
  });
});

describe("concurrent captures and voids", () => {
  it("end with the money captured or released, and our record matches the bank's", async () => {
    const { body } = await shop.pay();
    const path = `/orchestration/transactions/${body.id}`;
    await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        index % 2 === 0 ? shop.backEnd("POST", `${path}/capture`, { body: {} }) : shop.backEnd("POST", `${path}/void`),
      ),
    );
    const { status } = (await shop.backEnd("GET", path)).body;
    const ledger = await booked(body.reconciliation_id);
    expect(ledger.capture + ledger.void).toBe(1);
    expect(status).toBe(ledger.capture === 1 ? "capture_succeeded" : "authorization_voided");
  });
});

describe("what is stored", () => {
  it("shows no card, no code, and nothing of what the caller wrote", async () => {
    await shop.pay({ external_identifier: "secret-order", metadata: { note: "private-note" } });
    for (const table of ["payments", "simulator_payments", "idempotency_keys"] as const) {
      const text = await stored.textOf(shop.tenant.id, table);
      for (const secret of ["4242424242424242", "secret-order", "private-note"]) expect(text).not.toContain(secret);
    }
  });
});
