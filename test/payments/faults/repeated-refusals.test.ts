import { afterAll, beforeAll, expect, test } from "vitest";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { adyenBench } from "../connectors/adyen-bench.js";
import { agents } from "../connectors/bench.js";
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

test("a refusal of the first capture, repeated while the second is in flight, allows no third one", async () => {
  await using bench = await adyenBench();
  const service = standingIn(bench);
  const till = await payer.connect(service);
  const id = await till.pay("authorize");
  await till.deliverWebhooks();
  service.fail("capture", { response: "reset", acted: false });
  await till.follow(id, "capture");
  const { providerId = "" } = await till.read(id);
  const refusal = bench.standIn.signed({
    ...{ eventCode: "CAPTURE", success: "false", reason: "Refused", pspReference: "9990000000000003" },
    ...{ originalReference: providerId, merchantReference: "", amount: { currency: "EUR", value: 500 } },
    merchantAccountCode: bench.fields.merchant_account ?? "",
  });
  expect(await till.deliver(refusal)).toBe("receipt");
  expect((await till.read(id)).status).toBe("authorization_succeeded");

  // The second is done, and its response lost.
  service.fail("capture", { response: "reset", acted: true });
  await till.follow(id, "capture");
  expect(await till.deliver(refusal)).toBe("receipt");
  const open = await till.read(id);
  expect([open.status, open.attempt?.operation]).toEqual(["capture_pending", "capture"]);
  await expect(till.follow(id, "capture")).rejects.toThrow();
  await till.deliverWebhooks();
  const payment = await till.read(id);
  expect(payment).toMatchObject({ status: "capture_succeeded", capturedAmount: 500 });
  expect(bench.ledger.of(showReconciliationId(payment), "capture")).toHaveLength(1);
});
