import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Clock } from "../../../src/base/clock.js";
import { compactUuid } from "../../../src/base/compact-uuid.js";
import type { Uuid } from "../../../src/base/ids.js";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import { adyenBench } from "../connectors/adyen-bench.js";
import { agents } from "../connectors/bench.js";
import { checkoutBench } from "../connectors/checkout-bench.js";
import { stripeBench } from "../connectors/stripe-bench.js";
import { settle } from "./agreement.js";
import { Payer } from "./payer.js";
import { standingIn } from "./services.js";
import type { Till } from "./till.js";

const DAY_MS = 86_400_000;

let payer: Payer;
let ahead = 0;
const clock: Clock = { now: () => Date.now() + ahead };
beforeAll(async () => {
  payer = await Payer.open(clock);
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

/** What a shop sees of a payment and its one refund. */
async function seen(till: Till, id: Uuid) {
  const { capturedAmount, refundedAmount, attempt } = await till.read(id);
  const [refund] = await till.refunds(id);
  return { capturedAmount, refundedAmount, status: refund?.status, isUnderWay: attempt !== undefined };
}

const returned = { capturedAmount: 1234, refundedAmount: 500, status: "succeeded", isUnderWay: false };
const cameBack = { ...returned, refundedAmount: 0, status: "failed" };

async function refunded(till: Till): Promise<Uuid> {
  const id = await till.pay("capture");
  await settle(till, id);
  await till.follow(id, "refund");
  await settle(till, id);
  expect(await seen(till, id)).toEqual(returned);
  return id;
}

describe("a refund that succeeded and was then returned", () => {
  test.each(["REFUND_FAILED", "REFUNDED_REVERSED"])(
    "at adyen-card (%s) has failed, whatever is repeated",
    async (eventCode) => {
      await using bench = await adyenBench();
      const till = await payer.connect(standingIn(bench));
      const id = await refunded(till);
      const payment = await till.read(id);
      const [refund] = await till.refunds(id);
      if (!refund) throw new Error("there is no refund");
      const told = (more: { readonly eventCode: string }) =>
        bench.standIn.signed({
          ...{ pspReference: refund.providerId ?? "", originalReference: payment.providerId ?? "", success: "true" },
          ...{ merchantReference: compactUuid(refund.id), amount: { currency: "EUR", value: 500 }, reason: "" },
          merchantAccountCode: bench.fields.merchant_account ?? "",
          ...more,
        });
      for (const event of [eventCode, eventCode, "REFUND", eventCode]) {
        expect(await till.deliver(told({ eventCode: event }))).toBe("receipt");
        expect(await seen(till, id)).toEqual(cameBack);
      }
      // All of it can be refunded once more.
      await till.follow(id, "refund");
      await settle(till, id);
      expect((await seen(till, id)).refundedAmount).toBe(500);
    },
  );

  test("at stripe-card has failed, whatever is repeated", async () => {
    await using bench = await stripeBench();
    const till = await payer.connect(standingIn(bench));
    const id = await refunded(till);
    const payment = await till.read(id);
    const [refund] = await till.refunds(id);
    if (!refund) throw new Error("there is no refund");
    const told = (type: string, status: string) =>
      bench.standIn.signed({
        ...{ id: `evt_${type}`, object: "event", type },
        data: {
          object: {
            ...{ id: refund.providerId ?? "", object: "refund", amount: 500, currency: "eur", status },
            ...{ payment_intent: payment.providerId ?? "", metadata: { reference: compactUuid(refund.id) } },
          },
        },
      });
    for (const event of [
      told("refund.failed", "failed"),
      told("refund.updated", "succeeded"),
      told("refund.failed", "failed"),
    ]) {
      expect(await till.deliver(event)).toBe("receipt");
      expect(await seen(till, id)).toEqual(cameBack);
    }
  });
});

describe("a refund made at the service itself", () => {
  test("does not end ours, and shows in the refunded amount (stripe-card)", async () => {
    await using bench = await stripeBench();
    const service = standingIn(bench);
    const till = await payer.connect(service);
    const id = await till.pay("capture");
    await settle(till, id);
    service.fail("refund", { response: "reset", acted: false });
    await till.follow(id, "refund");
    const { providerId = "" } = await till.read(id);
    const elsewhere = await fetch(`${bench.server.url}/v1/refunds`, {
      ...{ method: "POST", body: new URLSearchParams({ payment_intent: providerId, amount: "200" }) },
      headers: { authorization: `Bearer ${bench.standIn.secretKey}` },
    });
    expect(elsewhere.status).toBe(200);
    for (const delivery of service.webhooks()) expect(await till.deliver(delivery)).toBe("receipt");
    expect((await till.refunds(id)).map(({ status }) => status)).toEqual(["processing"]);
    await settle(till, id);
    expect(await seen(till, id)).toEqual({ ...returned, refundedAmount: 700 });
  });

  test.each(["", "of the shop"])("does not end ours at adyen-card, which names it '%s'", async (merchantReference) => {
    await using bench = await adyenBench();
    const service = standingIn(bench);
    const till = await payer.connect(service);
    const id = await till.pay("capture");
    await settle(till, id);
    await till.follow(id, "refund");
    const { providerId = "" } = await till.read(id);
    const ours: WebhookDelivery[] = service.webhooks();
    const outsider = bench.standIn.signed({
      ...{ eventCode: "REFUND", pspReference: "9990000000000001", originalReference: providerId, success: "false" },
      ...{ merchantReference, amount: { currency: "EUR", value: 200 }, reason: "Insufficient balance on payment" },
      merchantAccountCode: bench.fields.merchant_account ?? "",
    });
    expect(await till.deliver(outsider)).toBe("receipt");
    expect(await seen(till, id)).toMatchObject({ status: "processing", isUnderWay: true, refundedAmount: 0 });
    for (const delivery of ours) await till.deliver(delivery);
    expect(await seen(till, id)).toEqual(returned);
  });
});

describe("a refund whose response was lost", () => {
  test("is not sent again to adyen-card once its key may be forgotten, and is ended by its webhook", async () => {
    await using bench = await adyenBench();
    const service = standingIn(bench);
    const till = await payer.connect(service);
    const id = await till.pay("capture");
    await settle(till, id);
    service.fail("refund", { response: "reset", acted: true });
    await till.follow(id, "refund");
    const sent = () => bench.server.requests.filter(({ path }) => path.endsWith("/refunds")).length;
    ahead = 8 * DAY_MS;
    for (let round = 0; round < 3; round += 1) await till.sync(id);
    ahead = 0;
    expect([sent(), await seen(till, id)]).toMatchObject([1, { status: "processing", isUnderWay: true }]);
    await till.deliverWebhooks();
    expect(await seen(till, id)).toEqual(returned);
  });

  test("is not sent again to checkoutcom-card while its refunds cannot be listed", async () => {
    await using bench = await checkoutBench();
    const service = standingIn(bench);
    const till = await payer.connect(service);
    const id = await till.pay("capture");
    await settle(till, id);
    // An error response is not stored: the same request would be executed again.
    service.fail("refund", { response: 500, acted: true });
    await till.follow(id, "refund");
    bench.server.fail(/\/actions$/, { response: 500, acted: false });
    await till.sync(id);
    expect(await seen(till, id)).toMatchObject({ status: "processing", isUnderWay: true });
    await till.sync(id);
    expect(await seen(till, id)).toEqual(returned);
    expect(bench.server.requests.filter(({ path }) => path.endsWith("/refunds"))).toHaveLength(1);
  });
});
