import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../../src/base/fault.js";
import {
  applyRefundOutcome,
  type Refund,
  type RefundStatus,
  totalRefunded,
  totalRefundedOrProcessing,
} from "../../../src/payments/lifecycle/refund.js";
import { STATUSES, type Status } from "../../../src/payments/lifecycle/transaction-states.js";
import {
  amountToCapture,
  amountToRefund,
  MAX_REFUNDS,
  requireRefundable,
  requireVoidable,
} from "../../../src/payments/operations/operation-rules.js";
import { aPayment, aRefund, authorized, captured, NOW } from "../sample-payment.js";

const REFUND_STATUSES: readonly RefundStatus[] = ["processing", "succeeded", "declined", "failed", "voided"];

/** What an operation may do: its amount, or the code and the words of the fault. */
function decided(decide: () => unknown): unknown {
  try {
    return decide();
  } catch (error) {
    if (error instanceof Fault) return `${error.code}: ${error.message}`;
    throw error;
  }
}

describe("a payment in each status", () => {
  const OPERATIONS: Readonly<Record<Status, readonly ("capture" | "void" | "refund")[]>> = {
    processing: [],
    buyer_approval_pending: [],
    authorization_succeeded: ["capture", "void"],
    authorization_failed: [],
    authorization_declined: [],
    capture_pending: [],
    capture_succeeded: ["refund"],
    authorization_void_pending: [],
    authorization_voided: [],
  };
  const isAllowed = (decide: () => unknown) => !String(decided(decide)).startsWith("wrong_state");

  it.each(STATUSES)("allows only what its money allows: %s", (status) => {
    const payment = aPayment({ status, authorizedAmount: 1_000, capturedAmount: 800 });
    expect(isAllowed(() => amountToCapture(payment, undefined))).toBe(OPERATIONS[status].includes("capture"));
    expect(isAllowed(() => requireVoidable(payment))).toBe(OPERATIONS[status].includes("void"));
    expect(isAllowed(() => requireRefundable(payment, 0))).toBe(OPERATIONS[status].includes("refund"));
  });

  it.each(["capture_pending", "capture_succeeded"] as const)(
    "says that a refund takes the place of a void: %s",
    (status) => {
      expect(decided(() => requireVoidable(aPayment({ status })))).toBe(
        `wrong_state: The transaction is ${status}: what is captured can be refunded instead.`,
      );
    },
  );
});

describe("the amount of a capture", () => {
  it.each<[number, number | undefined, number | string]>([
    [1_000, undefined, 1_000],
    [1_000, 1_000, 1_000],
    [1_000, 1, 1],
    [1_000, 1_001, "validation_failed: amount must be at most what was authorized: 1000"],
    [0, undefined, "validation_failed: amount must be more than 0: nothing was authorized"],
    [0, 1, "validation_failed: amount must be at most what was authorized: 0"],
  ])("is for %i authorized, if %s is asked for: %s", (authorizedAmount, wanted, amount) => {
    expect(decided(() => amountToCapture(authorized({ authorizedAmount }), wanted))).toBe(amount);
  });

  it("cannot be voided if nothing was authorized", () => {
    expect(decided(() => requireVoidable(authorized({ authorizedAmount: 0 })))).toBe(
      "wrong_state: A zero-amount authorization cannot be voided.",
    );
    expect(decided(() => requireVoidable(authorized()))).toBeUndefined();
  });
});

describe("the amount of a refund of 800 captured", () => {
  const refund = (status: RefundStatus, amount: number) => aRefund({ status, amount });
  const ALL_REFUNDED = "wrong_state: The transaction is capture_succeeded: all of it was refunded already.";

  it.each<[string, readonly Refund[], number, number | undefined, number | string]>([
    ["everything by default", [], 0, undefined, 800],
    ["a part", [], 0, 300, 300],
    ["not more than was captured", [], 0, 801, "validation_failed: amount must be at most what is left to refund: 800"],
    ["what a refund has left", [refund("succeeded", 300)], 300, undefined, 500],
    [
      "not what may be on its way",
      [refund("processing", 300)],
      0,
      501,
      "validation_failed: amount must be at most what is left to refund: 500",
    ],
    [
      "all again after refunds that did not succeed",
      [refund("declined", 800), refund("failed", 800), refund("voided", 800)],
      0,
      undefined,
      800,
    ],
    ["what the service refunded by itself, less", [], 700, undefined, 100],
    ["what both know, counted once", [refund("succeeded", 300)], 400, undefined, 400],
    ["nothing after all of it", [refund("succeeded", 800)], 800, 1, ALL_REFUNDED],
    ["nothing while all of it is on its way", [refund("processing", 800)], 0, undefined, ALL_REFUNDED],
    ["nothing if the service refunded more than was captured", [], 900, undefined, ALL_REFUNDED],
  ])("is %s", (_, refunds, refundedAmount, wanted, amount) => {
    expect(decided(() => amountToRefund(captured({ refundedAmount }), refunds, wanted))).toBe(amount);
  });

  it("is refused after a thousand refunds", () => {
    expect(decided(() => requireRefundable(captured(), MAX_REFUNDS - 1))).toBeUndefined();
    expect(decided(() => requireRefundable(captured(), MAX_REFUNDS))).toBe(
      "wrong_state: The transaction is capture_succeeded: it has 1000 refunds, and may have at most 1000.",
    );
  });

  it("never returns more money than was captured, whatever was refunded before", () => {
    const anyRefund = fc.record({
      status: fc.constantFrom(...REFUND_STATUSES),
      amount: fc.integer({ min: 1, max: 900 }),
    });
    fc.assert(
      fc.property(
        fc.array(anyRefund, { maxLength: 6 }),
        fc.nat(900),
        fc.option(fc.integer({ min: 1, max: 900 }), { nil: undefined }),
        (given, refundedAmount, wanted) => {
          const refunds = given.map((one) => aRefund(one));
          const amount = decided(() => amountToRefund(captured({ refundedAmount }), refunds, wanted));
          if (typeof amount !== "number") return;
          expect(amount).toBeGreaterThan(0);
          expect(totalRefundedOrProcessing(refunds) + amount).toBeLessThanOrEqual(800);
          expect(refundedAmount + amount).toBeLessThanOrEqual(800);
          expect(totalRefunded(refunds)).toBeLessThanOrEqual(totalRefundedOrProcessing(refunds));
        },
      ),
    );
  });
});

describe("a refund after a report of the payment service", () => {
  const done = { kind: "done", providerId: "re_2", codes: {} } as const;
  const accepted = { kind: "accepted", providerId: "re_2", codes: {} } as const;
  const declined = { kind: "refused", as: "declined", errorCode: "refused_transaction", codes: {} } as const;
  const failed = { kind: "refused", as: "failed", errorCode: "service_error", codes: {} } as const;
  const unknown = { kind: "unknown", codes: {} } as const;
  const later = NOW + 1_000;

  it.each([
    ["processing", done, "succeeded"],
    ["processing", accepted, "processing"],
    ["processing", declined, "declined"],
    ["processing", failed, "failed"],
    ["processing", unknown, "processing"],
    ["succeeded", done, "succeeded"],
    ["succeeded", accepted, "succeeded"],
    // The money came back.
    ["succeeded", declined, "failed"],
    ["succeeded", failed, "failed"],
    ["succeeded", unknown, "succeeded"],
    ...(["declined", "failed", "voided"] as const).flatMap((status) =>
      [done, accepted, declined, failed, unknown].map((outcome) => [status, outcome, status] as const),
    ),
  ] as const)("was %s, is reported as $kind, and is then %s", (status, outcome, expected) => {
    const before = aRefund({ status, providerId: "re_1" });
    const after = applyRefundOutcome(before, outcome, later);
    expect(after.status).toBe(expected);
    // Reports that say nothing new are not stored.
    if (status !== "processing" && expected === status) expect(after).toBe(before);
    if (expected !== status) expect(after.updatedAt).toBe(later);
    if (outcome.kind === "refused" && expected !== status) expect(after.errorCode).toBe(outcome.errorCode);
  });

  it("takes the service's id from the first report that has one", () => {
    expect(applyRefundOutcome(aRefund({ providerId: undefined }), accepted, later).providerId).toBe("re_2");
    expect(applyRefundOutcome(aRefund({ providerId: "re_1" }), { kind: "done", codes: {} }, later).providerId).toBe(
      "re_1",
    );
  });
});
