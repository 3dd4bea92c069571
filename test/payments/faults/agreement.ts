import { expect } from "vitest";
import type { Uuid } from "../../../src/base/ids.js";
import { type Payment, showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { KINDS, type Moved, type Service } from "./services.js";
import type { Till } from "./till.js";

/** More than the number of faults in any test. */
const MAX_ROUNDS = 20;

/** Reconciles a payment until no operation is open. */
export async function settle(till: Till, id: Uuid, webhooks: "first" | "last" = "last"): Promise<Payment> {
  if (webhooks === "first") await till.deliverWebhooks();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const payment = await till.read(id);
    const isOpen = payment.attempt !== undefined || /processing|pending/.test(payment.status);
    if (!isOpen) {
      await till.deliverWebhooks();
      const after = await till.read(id);
      expect(after.status, "after late webhooks").toBe(payment.status);
      return after;
    }
    await till.sync(id);
    await till.deliverWebhooks();
  }
  throw new Error(`still ${(await till.read(id)).status} after ${MAX_ROUNDS} rounds`);
}

/** The invariant: what the service recorded happened at most once, and equals what we show. */
export async function expectAgreement(till: Till, service: Service, payment: Payment): Promise<void> {
  const moved: Moved = await service.moved(showReconciliationId(payment));
  for (const kind of KINDS) expect(moved[kind].length, kind).toBeLessThanOrEqual(1);
  expect(sum(moved.authorize), "authorized").toBe(payment.authorizedAmount);
  expect(sum(moved.capture), "captured").toBe(payment.capturedAmount);
  expect(sum(moved.refund), "refunded").toBe(payment.refundedAmount);
  expect(moved.void.length === 1, "voided").toBe(payment.status === "authorization_voided");
  expect(moved.capture.length === 1, "taken").toBe(payment.status === "capture_succeeded");
  const refunds = (await till.refunds(payment.id)).filter(({ status }) => status === "succeeded");
  expect(refunds.reduce((total, { amount }) => total + amount, 0)).toBe(sum(moved.refund));
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
