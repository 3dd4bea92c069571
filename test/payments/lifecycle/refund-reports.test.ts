import { describe, expect, it } from "vitest";
import { compactUuid } from "../../../src/base/compact-uuid.js";
import type { FollowUpOutcome } from "../../../src/payments/contract/outcome.js";
import { applyReport } from "../../../src/payments/lifecycle/apply-report.js";
import {
  applyRefund,
  applyRefundsFound,
  type RefundsFound,
  refundNamed,
} from "../../../src/payments/lifecycle/refund-reports.js";
import { anAttempt, aRefund, captured, NOW } from "../sample-payment.js";

const LATER = NOW + 90_000;
const done: FollowUpOutcome = { kind: "done", providerId: "re_1", codes: {} };
const refused: FollowUpOutcome = { kind: "refused", as: "declined", errorCode: "canceled_payment_method", codes: {} };
const unknown: FollowUpOutcome = { kind: "unknown", codes: {} };
const accepted: FollowUpOutcome = { kind: "accepted", providerId: "re_1", codes: {} };

/** A refund of 300 in progress. */
function underWay() {
  const refund = aRefund();
  const attempt = anAttempt("refund", { amount: 300, refundId: refund.id, state: "accepted" });
  return { refund, payment: captured({ attempt }) };
}

describe("a report about a refund", () => {
  it("adds its amount once it has succeeded, and once only", () => {
    const { refund, payment } = underWay();
    const change = applyRefund(payment, refund, done, LATER);
    expect(change.payment).toMatchObject({ refundedAmount: 300, attempt: undefined, dueAt: undefined });
    const [after] = change.refunds ?? [];
    expect(after).toMatchObject({ status: "succeeded", providerId: "re_1" });
    const again = applyRefund(change.payment, after ?? refund, done, LATER);
    expect([again.payment, again.refunds]).toEqual([change.payment, []]);
  });

  it("subtracts its amount once for a late failure, and repetitions change nothing", () => {
    const refund = aRefund({ status: "succeeded", providerId: "re_1" });
    const change = applyRefund(captured({ refundedAmount: 500 }), refund, refused, LATER);
    const [after] = change.refunds ?? [];
    expect(after).toMatchObject({ status: "failed", errorCode: "canceled_payment_method" });
    expect(change.payment.refundedAmount).toBe(200);
    for (const repeated of [refused, done, accepted, unknown]) {
      const again = applyRefund(change.payment, after ?? refund, repeated, LATER);
      expect([again.payment.refundedAmount, again.refunds]).toEqual([200, []]);
    }
  });

  it("ends it as failed for a failure before its success", () => {
    const { refund, payment } = underWay();
    const change = applyRefund(payment, refund, refused, LATER);
    const [after] = change.refunds ?? [];
    const late = applyRefund(change.payment, after ?? refund, done, LATER);
    expect([after?.status, late.payment.refundedAmount, late.refunds]).toEqual(["declined", 0, []]);
  });

  it("about another refund leaves the one in progress alone", () => {
    const { payment } = underWay();
    const earlier = aRefund({ status: "succeeded", amount: 100 });
    const { payment: after } = applyRefund({ ...payment, refundedAmount: 100 }, earlier, refused, LATER);
    expect([after.refundedAmount, after.attempt]).toEqual([0, payment.attempt]);
  });

  it("never leads to a second request that the service accepted", () => {
    const { refund, payment } = underWay();
    expect(applyRefund(payment, refund, unknown, LATER).payment.attempt?.state).toBe("accepted");
  });
});

describe("a refund in progress that a report ends", () => {
  it.each([done, refused])(
    "($kind) is looked at once more: what the service returned by itself shows then",
    (outcome) => {
      const { refund, payment } = underWay();
      const pending = applyRefundsFound(payment, [refund], { found: undefined, total: 200 }, LATER).payment;
      expect(pending.refundedAmount).toBe(0);
      const report = { kind: "refund", reference: compactUuid(refund.id), providerId: "re_1", outcome } as const;
      const change = applyReport(pending, report, LATER, [refund]);
      expect(change.payment.attempt).toBeUndefined();
      expect(change.payment.dueAt?.getTime()).toBeGreaterThan(LATER);
      const [ended = refund] = change.refunds ?? [];
      const total = outcome === done ? 500 : 200;
      const looked = applyRefundsFound(change.payment, [ended], { found: undefined, total }, LATER).payment;
      expect([looked.refundedAmount, looked.dueAt]).toEqual([total, undefined]);
      const again = applyReport(looked, report, LATER, [ended]).payment;
      expect(again.dueAt).toBeUndefined();
    },
  );
});

describe("a refund's name", () => {
  const refund = aRefund({ providerId: "re_1" });
  const other = aRefund();
  const named = (reference: string | undefined, providerId: string | undefined) =>
    refundNamed([other, refund], { reference, providerId });

  it("is our reference, or otherwise the service's id for it", () => {
    expect(named(compactUuid(refund.id), undefined)).toBe(refund);
    expect(named(compactUuid(refund.id), "act_2")).toBe(refund);
    expect(named("somebody else's", "re_1")).toBe(refund);
    expect(named(undefined, "re_1")).toBe(refund);
  });

  it("belongs to none of ours if we did not give it, even while one of ours is in progress", () => {
    expect(named(undefined, "re_2")).toBeUndefined();
    expect(named("somebody else's", "re_2")).toBeUndefined();
    expect(named(undefined, undefined)).toBeUndefined();
  });
});

describe("the refunds that a look-up finds", () => {
  const entry = (id: Parameters<typeof compactUuid>[0], outcome: FollowUpOutcome) => ({
    ...{ reference: compactUuid(id), providerId: "re_1", outcome },
  });

  it("end the one in progress, whose amount the service's sum already includes", () => {
    const { refund, payment } = underWay();
    const change = applyRefundsFound(payment, [refund], { found: [entry(refund.id, done)], total: 300 }, LATER);
    expect(change.payment).toMatchObject({ refundedAmount: 300, attempt: undefined });
    expect(change.refunds).toMatchObject([{ id: refund.id, status: "succeeded" }]);
  });

  it("subtract what has failed since, also from a sum that was higher before", () => {
    const refund = aRefund({ status: "succeeded", providerId: "re_1" });
    const before = captured({ refundedAmount: 300 });
    const change = applyRefundsFound(before, [refund], { found: [entry(refund.id, refused)], total: 0 }, LATER);
    expect(change.payment.refundedAmount).toBe(0);
    expect(change.refunds).toMatchObject([{ status: "failed" }]);
  });

  it("include refunds made at the service itself, up and down, and never less than what we know of", () => {
    const refund = aRefund({ status: "succeeded" });
    const shown = (total: number | undefined, refundedAmount = 300) =>
      applyRefundsFound(captured({ refundedAmount }), [refund], { found: [], total }, LATER).payment.refundedAmount;
    expect([shown(500), shown(300, 500), shown(0), shown(undefined, 500)]).toEqual([500, 300, 300, 500]);
  });

  it("count during a refund in progress only if it is not among them: the sum may already include it", () => {
    const { refund, payment } = underWay();
    const shown = (found: RefundsFound["found"]) => {
      const { payment: left } = applyRefundsFound(payment, [refund], { found, total: 300 }, LATER);
      expect(left.attempt?.state).toBe("accepted");
      expect(left.dueAt?.getTime()).toBeGreaterThan(LATER);
      return left.refundedAmount;
    };
    const somebodyElses = { reference: undefined, providerId: "re_9", outcome: done };
    expect([shown(undefined), shown([entry(refund.id, accepted)]), shown([somebodyElses])]).toEqual([0, 0, 300]);
  });

  it("with one reference are one refund, which succeeded if any did", () => {
    const { refund, payment } = underWay();
    const found = [entry(refund.id, refused), entry(refund.id, done)];
    expect(applyRefundsFound(payment, [refund], { found, total: 300 }, LATER).refunds).toMatchObject([
      { status: "succeeded" },
    ]);
  });
});
