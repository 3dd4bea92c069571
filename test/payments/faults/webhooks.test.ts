import { afterAll, beforeAll, expect, test } from "vitest";
import { adyenBench } from "../connectors/adyen-bench.js";
import { agents } from "../connectors/bench.js";
import { checkoutBench } from "../connectors/checkout-bench.js";
import { stripeBench } from "../connectors/stripe-bench.js";
import { Payer } from "./payer.js";
import { standingIn } from "./services.js";

let payer: Payer;
beforeAll(async () => {
  payer = await Payer.open();
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

test("a repeated report that an earlier capture was refused does not end the one in progress", async () => {
  await using bench = await adyenBench();
  const till = await payer.connect(standingIn(bench));
  const id = await till.pay("authorize");
  await till.deliverWebhooks();
  await till.follow(id, "capture");
  const payment = await till.read(id);
  expect(payment.status).toBe("capture_pending");
  const stale = bench.standIn.signed({
    ...{ eventCode: "CAPTURE", success: "false", reason: "Insufficient balance on payment" },
    ...{ pspReference: "9990000000000001", originalReference: payment.providerId ?? "" },
    merchantAccountCode: bench.fields.merchant_account ?? "",
    ...{ merchantReference: "", amount: { currency: "EUR", value: 500 } },
  });
  expect(await till.deliver(stale)).toBe("receipt");
  expect((await till.read(id)).status).toBe("capture_pending");
  await till.deliverWebhooks();
  expect(await till.read(id)).toMatchObject({ status: "capture_succeeded", capturedAmount: 500 });
});

test.each([
  ["capture", "CAPTURE"],
  ["void", "CANCELLATION"],
] as const)(
  "a %s that a webhook ended before its lost response is noted stays ended, and can be asked for again",
  async (operation, eventCode) => {
    await using bench = await adyenBench();
    const { connector } = bench;
    let sendWebhook = async () => {};
    const lateResponse = async () => {
      await sendWebhook();
      return { kind: "unknown", codes: { rawCode: "timeout" } } as const;
    };
    const slow = {
      ...connector,
      capture: async () => lateResponse(),
      void: async () => lateResponse(),
    };
    const till = await payer.connect({ ...standingIn(bench), connector: slow });
    const id = await till.pay("authorize");
    const { providerId = "" } = await till.read(id);
    sendWebhook = async () => {
      const refusal = bench.standIn.signed({
        ...{ eventCode, success: "false", reason: "Refused", pspReference: "9990000000000002" },
        ...{ originalReference: providerId, merchantReference: "", amount: { currency: "EUR", value: 500 } },
        merchantAccountCode: bench.fields.merchant_account ?? "",
      });
      expect(await till.deliver(refusal)).toBe("receipt");
    };
    await till.follow(id, operation);
    const after = await till.read(id);
    expect([after.status, after.attempt, after.dueAt]).toEqual(["authorization_succeeded", undefined, undefined]);
    expect(after.errorCode).toBeDefined();
    await till.follow(id, "capture");
  },
);

test.each([
  ["stripe-card", stripeBench],
  ["checkoutcom-card", checkoutBench],
])("%s is asked to send a webhook again while its look-up does not respond", async (_name, open) => {
  await using bench = await open();
  const service = standingIn(bench);
  const till = await payer.connect(service);
  service.fail("authorize", { response: "reset", acted: true });
  const id = await till.pay("authorize");
  const [told] = service.webhooks();
  if (!told) throw new Error("no webhook was sent");
  service.fail("look up", { response: 500, acted: false });
  expect(await till.deliver(told)).toBe("later");
  expect((await till.read(id)).status).toBe("processing");
  expect(await till.deliver(told)).toBe("receipt");
  expect((await till.read(id)).status).toBe("authorization_succeeded");
});
