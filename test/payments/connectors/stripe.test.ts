import { afterAll, describe, expect, test } from "vitest";
import { agents, authorization, contextOf, newReference } from "./bench.js";
import { stripeBench } from "./stripe-bench.js";

afterAll(() => agents.close());

describe.each(["listed", "unlisted", "never"] as const)(
  "the rest of a partial capture, booked as refunded: %s",
  (booked) => {
    test.each([
      ["less than the rest", 100],
      ["as much as the rest", 234],
      ["more than the rest", 700],
    ])("does not count as refunded: %s", async (_name, amount) => {
      await using bench = await stripeBench();
      bench.standIn.booksRest = booked;
      const request = authorization(bench);
      const held = await bench.connector.authorize(contextOf(bench), request);
      if (held.kind !== "authorized") throw new Error(`the payment is ${held.kind}`);
      const payment = { ...request, providerId: held.providerId };
      const money = (part: number) => ({ amount: part, currency: bench.currency });
      await bench.connector.capture(contextOf(bench), { payment, idempotencyKey: "capture-1", money: money(1000) });
      const refunded = async () => {
        const found = await bench.connector.lookUp(contextOf(bench), payment);
        if (found.kind !== "found" || found.state.kind !== "captured") throw new Error("not found as captured");
        return found.state.refundedAmount;
      };
      expect(await refunded()).toBe(0);

      const refund = { payment, idempotencyKey: "refund-1", reference: newReference(), reason: undefined };
      await bench.connector.refund(contextOf(bench), { ...refund, money: money(amount) });
      expect(await refunded()).toBe(amount);

      bench.standIn.refundElsewhere(request.reconciliationId, 50);
      expect(await refunded()).toBe(amount + 50);
    });
  },
);
