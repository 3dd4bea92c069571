import { afterAll, beforeAll, expect, test } from "vitest";
import type { Uuid } from "../../../src/base/ids.js";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { agents } from "../connectors/bench.js";
import { checkoutBench } from "../connectors/checkout-bench.js";
import { Payer } from "./payer.js";
import { standingIn } from "./services.js";
import type { Till } from "./till.js";

let payer: Payer;
beforeAll(async () => {
  payer = await Payer.open();
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

/** Checkout.com executes captures and voids asynchronously, and this connection receives no webhooks. */
async function withCheckout(
  run: (till: Till, bench: Awaited<ReturnType<typeof checkoutBench>>) => Promise<void>,
): Promise<void> {
  await using bench = await checkoutBench();
  await run(await payer.connect(standingIn(bench)), bench);
}

async function look(till: Till, id: Uuid, times = 3) {
  for (let round = 0; round < times; round += 1) await till.sync(id);
  return till.read(id);
}

test("a capture that is declined after it was accepted is reported, and does not end the next one", () =>
  withCheckout(async (till, bench) => {
    const id = await till.pay("authorize");
    bench.standIn.declines.add("Capture");
    await till.follow(id, "capture");
    expect(await look(till, id)).toMatchObject({
      ...{ status: "authorization_succeeded", errorCode: "issuer_decline", capturedAmount: 0 },
      codes: { rawCode: "20005" },
    });

    bench.standIn.declines.clear();
    await till.follow(id, "capture");
    const payment = await look(till, id);
    expect(payment).toMatchObject({ status: "capture_succeeded", capturedAmount: 500 });
    expect(payment.errorCode).toBeUndefined();
    expect(bench.ledger.total(showReconciliationId(payment), "capture")).toBe(500);
  }));

test("a capture whose response was lost as well is reported as declined", () =>
  withCheckout(async (till, bench) => {
    const id = await till.pay("authorize");
    bench.standIn.declines.add("Capture");
    bench.server.fail(bench.routes.capture, { response: "reset", acted: true });
    await till.follow(id, "capture");
    expect(await look(till, id)).toMatchObject({ status: "authorization_succeeded", errorCode: "issuer_decline" });
    expect(bench.ledger.of(showReconciliationId(await till.read(id)), "capture")).toEqual([]);
  }));

test("a void that is declined after it was accepted is reported", () =>
  withCheckout(async (till, bench) => {
    const id = await till.pay("authorize");
    bench.standIn.declines.add("Void");
    await till.follow(id, "void");
    expect(await look(till, id)).toMatchObject({ status: "authorization_succeeded", errorCode: "issuer_decline" });

    bench.standIn.declines.clear();
    await till.follow(id, "void");
    expect(await look(till, id)).toMatchObject({ status: "authorization_voided" });
  }));

test("a sale whose capture is declined is released", () =>
  withCheckout(async (till, bench) => {
    bench.standIn.declines.add("Capture");
    const id = await till.pay("capture");
    expect((await till.read(id)).status).toBe("capture_pending");
    const payment = await look(till, id, 4);
    expect(payment).toMatchObject({ status: "authorization_voided", intentOutcome: "failed", capturedAmount: 0 });
    expect(bench.ledger.of(showReconciliationId(payment), "void")).toHaveLength(1);
  }));

test("a sale whose capture is declined is released when webhooks report that, too", () =>
  withCheckout(async (till, bench) => {
    bench.standIn.declines.add("Capture");
    const id = await till.pay("capture");
    await till.deliverWebhooks("first to last");
    expect(await look(till, id)).toMatchObject({ status: "authorization_voided", intentOutcome: "failed" });
  }));
