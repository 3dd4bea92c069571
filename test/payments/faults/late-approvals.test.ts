import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Clock } from "../../../src/base/clock.js";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { agents } from "../connectors/bench.js";
import { Payer } from "./payer.js";
import { SERVICES } from "./services.js";

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

/** What the service holds or has captured in the end, and the resulting status of the payment. */
const ENDS = [
  ["authorize", "authorization_voided"],
  ["capture", "capture_succeeded"],
] as const;

describe.each(SERVICES)("%s", (_name, open) => {
  test.each(ENDS)(
    "a late approval of a cancelled payment (%s) is released or refunded when it is reported",
    async (intent, end) => {
      await using service = await open(payer.vault.database, payer.tenantId);
      const till = await payer.connect(service);
      service.fail("authorize", { response: "reset", acted: true });
      ahead = 0;
      const id = await till.pay(intent);
      expect((await till.read(id)).status).toBe("processing");

      ahead = DAY_MS + 60_000;
      // No response arrives until we time out: look-ups are a kind of their own, or look like all other requests.
      for (const kind of ["look up", "authorize"] as const) service.fail(kind, { response: 500, acted: false });
      const given = await till.sync(id);
      expect(given).toMatchObject({ status: "authorization_failed", errorCode: "service_network_error" });
      expect(given.dueAt).toBeUndefined();

      // Services sign with their time, which is ours.
      ahead = 0;
      for (let round = 0; round < 6; round += 1) {
        await till.deliverWebhooks("first to last");
        await till.sync(id);
      }
      const payment = await till.read(id);
      expect([payment.status, payment.intentOutcome, payment.attempt]).toEqual([end, "failed", undefined]);
      const moved = await service.moved(showReconciliationId(payment));
      const left = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0);
      expect(left(moved.authorize)).toBe(1234);
      expect(payment.refundedAmount).toBe(payment.capturedAmount);
      // Authorize.net releases what it has captured and not yet settled.
      const isReleased = moved.void.length === 1 && moved.refund.length === 0;
      const isReturned = moved.void.length === 0 && left(moved.refund) === 1234 && left(moved.capture) === 1234;
      expect(isReleased || isReturned).toBe(true);
    },
  );
});
