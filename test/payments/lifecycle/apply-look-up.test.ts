import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { LookUpOutcome } from "../../../src/payments/contract/outcome.js";
import { applyLookUp } from "../../../src/payments/lifecycle/apply-look-up.js";
import type { Attempt } from "../../../src/payments/lifecycle/payment.js";
import { STATUSES } from "../../../src/payments/lifecycle/transaction-states.js";
import { shouldResend } from "../../../src/payments/reconciliation/resend-rule.js";
import { anAttempt, aPayment, aRefund, authorized, captured, NOW } from "../sample-payment.js";

const HOUR_MS = 3_600_000;
const unknown: LookUpOutcome = { kind: "unknown", codes: {} };
const unsupported: LookUpOutcome = { kind: "unsupported" };
test("a refund whose response was lost is looked up indefinitely, with pauses", () => {
  const refund = aRefund();
  const attempt = anAttempt("refund", { refundId: refund.id, state: "unknown", account: "here" });
  let payment = captured({ attempt, connection: { formulaId: "adyen-card", method: "card", displayName: "Shop" } });
  for (let now = NOW; now < NOW + 30 * 24 * HOUR_MS; now = payment.dueAt?.getTime() ?? now) {
    payment = applyLookUp(payment, unsupported, now, [refund]).payment;
    expect(payment.attempt?.key).toBe(attempt.key);
    expect(payment.dueAt?.getTime()).toBeGreaterThan(now);
  }
});

describe("a capture that a look-up shows as refused", () => {
  const refused = { kind: "refused", as: "declined", errorCode: "issuer_decline", codes: {} } as const;
  const state = { kind: "authorized", providerId: "pay_1", amount: 1000, codes: {} } as const;
  const refusals = [{ operation: "capture", providerId: "act_1", outcome: refused } as const];
  const found: LookUpOutcome = { kind: "found", state, refusals };
  const lookedUp = (attempt: Partial<Attempt>, captures: number) => {
    const taken = anAttempt("capture", { state: "accepted", ...attempt });
    const pending = authorized({ status: "capture_pending", attempt: taken, captures });
    return applyLookUp(pending, found, NOW, []).payment;
  };

  it.each([
    ["that has its name", { providerId: "act_1" }, 2],
    ["that is the first, of a sale", {}, 1],
  ] as const)("ends if it is the one %s", (_name, attempt, captures) => {
    const payment = lookedUp(attempt, captures);
    expect(payment).toMatchObject({ status: "authorization_succeeded", errorCode: "issuer_decline" });
    expect(payment.attempt).toBeUndefined();
  });

  it.each([
    ["of another name", { providerId: "act_2" }, 2],
    ["of an earlier one, while its own name is not known", {}, 2],
    ["while it is not known to be taken on", { state: "unknown" }, 1],
  ] as const)("continues if the refusal is %s", (_name, attempt, captures) => {
    expect(lookedUp(attempt, captures)).toMatchObject({ status: "capture_pending", attempt: { operation: "capture" } });
  });
});

test.each(["processing", "capture_pending", "authorization_succeeded"] as const)(
  "an unanswered authorization that is %s is cancelled after a day if possible, and otherwise looked up with pauses",
  (status) => {
    const payment = aPayment({ status, attempt: anAttempt("authorize", { state: "unknown" }), dueAt: new Date(NOW) });
    const now = NOW + 25 * HOUR_MS;
    const { payment: after, moved } = applyLookUp(payment, unknown, now, []);
    expect(moved).toBe(status === "processing");
    expect(after.status).toBe(status === "processing" ? "authorization_failed" : status);
    if (!moved) expect(after.dueAt?.getTime()).toBeGreaterThan(now);
  },
);

describe("a cancelled payment that is looked up once more", () => {
  const failed = aPayment({ status: "authorization_failed", intentOutcome: "failed", dueAt: new Date(NOW) });
  const dueAfter = (found: LookUpOutcome, now = NOW) => applyLookUp(failed, found, now, []).payment.dueAt?.getTime();
  const redirect = { kind: "redirect", providerId: "pi_1", approvalUrl: "https://bank.example", codes: {} } as const;

  it("is looked up for a day while it is still open there", () => {
    for (const found of [unknown, { kind: "found", state: redirect } as const]) {
      expect(dueAfter(found)).toBeGreaterThan(NOW);
      expect(dueAfter(found, NOW + 25 * HOUR_MS)).toBeUndefined();
    }
  });

  it("stops polling once the service has ended it, and voids it if it was approved", () => {
    expect(dueAfter(unsupported)).toBeUndefined();
    expect(dueAfter({ kind: "absent" })).toBeUndefined();
    const state = { kind: "authorized", providerId: "pi_1", amount: 1000, codes: {} } as const;
    const { payment } = applyLookUp(failed, { kind: "found", state }, NOW, []);
    expect(payment).toMatchObject({ status: "authorization_void_pending", attempt: { operation: "void" } });
    expect(shouldResend(payment, { kind: "found", state }, NOW)).toBe(true);
  });
});

test("whatever a look-up finds, the next one follows after a pause, and no operation in progress is forgotten", () => {
  const known = { providerId: "pi_1", codes: {} };
  const redirect = { kind: "redirect", ...known, approvalUrl: "https://bank.example" } as const;
  const refund = aRefund();
  const state = fc.constantFrom<Extract<LookUpOutcome, { kind: "found" }>["state"]>(
    { kind: "authorized", ...known, amount: 1000 },
    { kind: "captured", ...known, amount: 800, refundedAmount: 300 },
    { kind: "capturing", ...known, authorizedAmount: 1000 },
    { kind: "processing", ...known },
    { kind: "voiding", ...known },
    { kind: "voided", ...known, expired: true },
    { kind: "declined", codes: {}, errorCode: "issuer_decline" },
    { kind: "failed", codes: {}, errorCode: "canceled" },
    redirect,
  );
  const found: fc.Arbitrary<LookUpOutcome> = fc.oneof(
    fc.constantFrom<LookUpOutcome>(unknown, unsupported, { kind: "absent" }),
    fc.record({ kind: fc.constant("found"), state }),
    fc.record({ kind: fc.constant("found"), state, refunds: fc.constant([]) }),
  );
  const attempt = fc.option(
    fc.record({
      operation: fc.constantFrom("authorize", "capture", "void", "refund"),
      ...{ state: fc.constantFrom("sent", "unknown", "accepted"), tries: fc.nat(9), since: fc.nat(40 * HOUR_MS) },
    }),
    { nil: undefined },
  );
  fc.assert(
    fc.property(fc.constantFrom(...STATUSES), attempt, found, fc.constantFrom("authorize", "capture"), (...drawn) => {
      const [status, under, outcome, intent] = drawn;
      const begun = under && anAttempt(under.operation, { ...under, since: NOW - under.since, refundId: refund.id });
      const before = { ...aPayment({ status, attempt: begun, authorizedAmount: 1000, dueAt: new Date(NOW) }, intent) };
      const { payment, moved } = applyLookUp(before, outcome, NOW + 1, [refund]);
      if (!moved && status !== "buyer_approval_pending") {
        if (payment.dueAt) expect(payment.dueAt.getTime()).toBeGreaterThan(NOW + 1);
        if (payment.attempt) expect(payment.dueAt).toBeDefined();
      }
      expect(payment.capturedAmount).toBeGreaterThanOrEqual(before.capturedAmount);
    }),
    { numRuns: 2_000 },
  );
});
