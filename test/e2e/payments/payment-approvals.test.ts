import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { openShop, type Shop } from "../../support/payments.js";

const CHALLENGED = "4000000000003220";
const SECRET = "webhook-secret";

let shop: Shop;
beforeAll(async () => {
  shop = await openShop([{ key: "webhook_secret", value: SECRET }]);
});

const read = async (id: string) => (await shop.backEnd("GET", `/orchestration/transactions/${id}`)).body;

/** What a buyer's browser does: opens the page, presses a button, and follows the redirects. */
async function decide(approvalUrl: string, choice: string): Promise<string> {
  const page = await (await fetch(approvalUrl)).text();
  expect(page).toContain('value="approve"');
  const response = await fetch(approvalUrl, { method: "POST", body: new URLSearchParams({ choice }) });
  expect(response.url).toContain("/orchestration/approvals/");
  return response.text();
}

describe("a payment that the buyer must approve", () => {
  it("waits with an address, and is authorized when the buyer approves there", async () => {
    const { body } = await shop.pay({}, CHALLENGED);
    expect(body).toMatchObject({
      status: "buyer_approval_pending",
      intent_outcome: "pending",
      payment_method: { mode: "redirect", approval_target: "any" },
    });
    expect(Date.parse(body.approval_expires_at) - Date.parse(body.created_at)).toBeGreaterThan(3_500_000);
    expect(await decide(body.payment_method.approval_url, "approve")).toContain("was approved");
    expect(await read(body.id)).toMatchObject({
      status: "authorization_succeeded",
      authorized_amount: 1000,
      three_d_secure: { status: "complete", method: "challenge", version: "2.2.0" },
      payment_method: { mode: "card" },
    });
  });

  it("is captured at once if the intent says so", async () => {
    const { body } = await shop.pay({ intent: "capture" }, CHALLENGED);
    await decide(body.payment_method.approval_url, "approve");
    expect(await read(body.id)).toMatchObject({ status: "capture_succeeded", captured_amount: 1000 });
  });

  it.each([
    ["fail", "failed_buyer_approval", "declined"],
    ["cancel", "cancelled_buyer_approval", "cancelled"],
  ])("is declined when the buyer chooses to %s", async (choice, code, status) => {
    const { body } = await shop.pay({}, CHALLENGED);
    expect(await decide(body.payment_method.approval_url, choice)).toContain("not approved");
    expect(await read(body.id)).toMatchObject({
      status: "authorization_declined",
      error_code: code,
      three_d_secure: { status },
    });
  });

  it("may still be declined after the approval", async () => {
    const { body } = await shop.pay({}, "4000008400001629");
    await decide(body.payment_method.approval_url, "approve");
    expect(await read(body.id)).toMatchObject({ status: "authorization_declined", error_code: "issuer_decline" });
  });

  it("accepts no forged return, and no address of another payment", async () => {
    const { body } = await shop.pay({}, CHALLENGED);
    const { url } = shop.tenant;
    const [, address = ""] = body.payment_method.approval_url.split("/approvals/");
    expect((await fetch(`${url}/orchestration/approvals/${address}?redirect_status=succeeded`)).status).toBe(404);
    const last = address.endsWith("0") ? "1" : "0";
    expect((await fetch(`${url}/simulator/approvals/${address.slice(0, -1)}${last}`)).status).toBe(404);
    expect((await read(body.id)).status).toBe("buyer_approval_pending");
  });

  it("needs no approval if it was authenticated without a challenge, or is merchant-initiated", async () => {
    expect((await shop.pay({}, "4000000000003055")).body).toMatchObject({
      status: "authorization_succeeded",
      three_d_secure: { status: "complete", method: "frictionless" },
    });
    const merchants = { merchant_initiated: true, payment_source: "card_on_file" };
    expect((await shop.pay(merchants, "4000002500003155")).body.status).toBe("authorization_succeeded");
    expect((await shop.pay(merchants, CHALLENGED)).body).toMatchObject({
      status: "authorization_declined",
      error_code: "requires_buyer_authentication",
    });
  });

  it("fails when its time is over, and a later approval is released again", async () => {
    const short = await openShop([{ key: "approval_ttl_s", value: "1" }], shop.tenant);
    const { body } = await short.pay({ amount: 600010 });
    expect(body.status).toBe("buyer_approval_pending");
    const failed = await short.until(body.id, "authorization_failed");
    expect(failed).toMatchObject({ error_code: "incomplete_buyer_approval", intent_outcome: "failed" });
    const late = body.payment_method.approval_url;
    await fetch(late, { method: "POST", body: new URLSearchParams({ choice: "approve" }), redirect: "manual" });
    await short.backEnd("POST", `/orchestration/transactions/${body.id}/sync`);
    expect(await short.until(body.id, "authorization_voided")).toMatchObject({
      captured_amount: 0,
      intent_outcome: "failed",
    });
  });

  it("is looked up when the buyer returns after a late approval, and is not approved", async () => {
    const short = await openShop([{ key: "approval_ttl_s", value: "1" }], shop.tenant);
    const { body } = await short.pay({ amount: 600010, intent: "capture" });
    await short.until(body.id, "authorization_failed");
    expect(await decide(body.payment_method.approval_url, "approve")).toContain("The payment was not approved.");
    await short.until(body.id, "capture_succeeded");
    await expect.poll(async () => (await read(body.id)).refunded_amount).toBe(600010);
    expect(await read(body.id)).toMatchObject({ captured_amount: 600010, intent_outcome: "failed" });
  });
});

describe("a webhook", () => {
  const post = async (event: unknown, signature?: string) => {
    const { webhook_url } = (await shop.tenant.manage("GET", `/orchestration/connections/${shop.connectionId}`)).body;
    const body = typeof event === "string" ? event : JSON.stringify(event);
    const signed = signature ?? createHmac("sha256", SECRET).update(body).digest("hex");
    return fetch(webhook_url, {
      method: "POST",
      body,
      headers: { "simulator-signature": signed, "content-type": "application/json" },
    });
  };

  it("triggers a look-up if it is signed; a repetition changes nothing more", async () => {
    const { body } = await shop.pay({}, CHALLENGED);
    const event = { id: "evt-1", payment: body.connection_transaction_id };
    expect((await post(event)).status).toBe(200);
    expect((await read(body.id)).status).toBe("buyer_approval_pending");
    await fetch(body.payment_method.approval_url, {
      ...{ method: "POST", body: new URLSearchParams({ choice: "approve" }), redirect: "manual" },
    });
    const first = await post(event);
    expect([first.status, await first.text()]).toEqual([200, "ok"]);
    const after = await read(body.id);
    expect(after.status).toBe("authorization_succeeded");
    for (let repeat = 0; repeat < 3; repeat += 1) expect((await post(event)).status).toBe(200);
    expect(await read(body.id)).toEqual(after);
  });

  it("with a wrong signature is rejected and changes nothing; a malformed one is a 400", async () => {
    expect((await post({ id: "evt-2", payment: "x" }, "00".repeat(32))).status).toBe(401);
    expect((await post("no json")).status).toBe(400);
    expect(
      (await fetch(`${shop.tenant.url}/orchestration/webhooks/${"0".repeat(66)}`, { method: "POST" })).status,
    ).toBe(404);
  });

  it("comes from the simulator when a buyer approves and never returns", async () => {
    const { body } = await shop.pay({}, CHALLENGED);
    await fetch(body.payment_method.approval_url, {
      ...{ method: "POST", body: new URLSearchParams({ choice: "approve" }), redirect: "manual" },
    });
    await shop.until(body.id, "authorization_succeeded");
  });

  it("reports a charge whose response was lost, and may do so twice", async () => {
    const lost = (await shop.pay({ amount: 600001 })).body;
    expect(await shop.until(lost.id, "authorization_succeeded")).toMatchObject({ authorized_amount: 600001 });
    const twice = (await shop.pay({ amount: 600009, intent: "capture" })).body;
    expect(twice.status).toBe("capture_succeeded");
    const path = `/orchestration/transactions/${twice.id}`;
    expect((await shop.backEnd("POST", `${path}/refunds`, { body: {} })).body.status).toBe("succeeded");
    await expect.poll(async () => (await read(twice.id)).refunded_amount).toBe(600009);
    const { data } = (await shop.tenant.manage("GET", `/logs?entity_id=${twice.id}`)).body;
    const captured = data.filter(({ message }: { message: string }) => message.includes("capture_succeeded"));
    expect(captured).toHaveLength(1);
  });

  it("is verified with the same secret after a replacement of the connection that omitted it", async () => {
    const replaced = await shop.tenant.manage("PUT", `/orchestration/connections/${shop.connectionId}`, {
      body: {
        ...{ connection_formula_id: "simulator-card", method: "card", display_name: "Renamed" },
        fields: [{ key: "merchant_id", value: "shop" }],
        ...{ accepted_countries: ["US"], accepted_currencies: ["USD"] },
      },
    });
    expect(replaced).toMatchObject({ status: 200, body: { status: "available", display_name: "Renamed" } });
    expect(JSON.stringify(replaced.body)).not.toContain(SECRET);
    expect((await post({ id: "evt-kept", payment: "sim_unknown" })).status).toBe(200);
  });

  it("about an unknown payment is accepted and ignored", async () => {
    expect((await post({ id: "evt-3", payment: "sim_unknown" })).status).toBe(200);
  });
});
