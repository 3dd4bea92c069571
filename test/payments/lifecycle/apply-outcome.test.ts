import { describe, expect, it, test } from "vitest";
import type { FollowUpOutcome } from "../../../src/payments/contract/outcome.js";
import {
  applyCancellation,
  applyFollowUp,
  applyState,
  type FollowUp,
} from "../../../src/payments/lifecycle/apply-outcome.js";
import type { Payment } from "../../../src/payments/lifecycle/payment.js";
import { STATUSES } from "../../../src/payments/lifecycle/transaction-states.js";
import { anAttempt, aPayment, authorized, captured, NOW } from "../sample-payment.js";

const LATER = NOW + 90_000;
const done: FollowUpOutcome = { kind: "done", codes: { rawCode: "done" } };
const accepted: FollowUpOutcome = { kind: "accepted", providerId: "act_1", codes: {} };
const unknown: FollowUpOutcome = { kind: "unknown", codes: { rawCode: "timeout" } };
const refused: FollowUpOutcome = { kind: "refused", as: "failed", errorCode: "unexpected_state", codes: {} };

describe("the response to a capture or void", () => {
  const capture: FollowUp = { operation: "capture", amount: 500, key: "capture-1" };

  it.each([
    ["unknown", unknown, "capture_pending", "unknown"],
    ["accepted", accepted, "capture_pending", "accepted"],
  ] as const)("%s leaves it in progress", (_kind, outcome, status, state) => {
    const begun = authorized({ attempt: anAttempt("capture") });
    const { payment } = applyFollowUp(begun, capture, outcome, LATER);
    expect([payment.status, payment.attempt?.key, payment.attempt?.state]).toEqual([status, "capture-1", state]);
    expect(payment.dueAt?.getTime()).toBeGreaterThan(LATER);
    const again = applyFollowUp(payment, capture, outcome, LATER).payment;
    expect([again.status, again.attempt?.tries]).toEqual([status, 1]);
  });

  it.each(
    [capture, { operation: "void", amount: 0, key: "void-1" } as const].flatMap((asked) =>
      [unknown, accepted, refused].flatMap((outcome) =>
        [undefined, anAttempt("capture", { key: "another" })].map(
          (attempt) => [asked.operation, outcome.kind, attempt?.key, asked, outcome, attempt] as const,
        ),
      ),
    ),
  )("%s %s says nothing once a webhook has ended it (%s is under way then)", (_a, _b, _c, asked, outcome, attempt) => {
    const ended = authorized({ attempt, errorCode: "issuer_decline" });
    expect(applyFollowUp(ended, asked, outcome, LATER)).toEqual({ payment: ended, moved: false, approved: false });
  });

  it("counts in any case once it is done: money moved", () => {
    const { payment } = applyFollowUp(authorized(), { ...capture, key: undefined }, done, LATER);
    expect(payment).toMatchObject({ status: "capture_succeeded", capturedAmount: 500 });
    const released = authorized({ status: "authorization_void_pending", attempt: anAttempt("void") });
    const { payment: letGo } = applyFollowUp(released, { operation: "void", amount: 0, key: undefined }, done, LATER);
    expect(letGo).toMatchObject({ status: "authorization_voided", voidedAt: LATER, attempt: undefined });
  });

  it("leaves the authorization open for another attempt if it is a refusal", () => {
    const begun = authorized({ status: "capture_pending", attempt: anAttempt("capture", { state: "unknown" }) });
    const { payment } = applyFollowUp(begun, capture, refused, LATER);
    expect(payment).toMatchObject({ status: "authorization_succeeded", errorCode: "unexpected_state" });
    expect([payment.attempt, payment.dueAt]).toEqual([undefined, undefined]);
  });
});

describe("a response without an operation", () => {
  it("changes neither amounts nor times if the rest was captured at the service", () => {
    const before = captured();
    const outcome: FollowUpOutcome = { kind: "done", amount: 200, at: new Date(LATER), codes: { rawCode: "ok" } };
    const { payment } = applyFollowUp(before, { operation: "capture", amount: 200, key: undefined }, outcome, LATER);
    expect(payment).toEqual({ ...before, codes: { rawCode: "ok" } });
  });

  const SETTLED = ["authorization_declined", "authorization_voided", "authorization_failed"] as const;
  it.each(SETTLED)("leaves a payment that is %s without a release time", (status) => {
    const before = aPayment({ status, intentOutcome: "failed" });
    const { payment } = applyFollowUp(before, { operation: "void", amount: 0, key: undefined }, done, LATER);
    expect(payment).toEqual({ ...before, codes: { rawCode: "done" } });
  });

  it.each(STATUSES)("from %s never lowers what was captured", (status) => {
    const before = captured({ status });
    for (const operation of ["capture", "void"] as const) {
      const { payment, moved } = applyFollowUp(before, { operation, amount: 100, key: undefined }, done, LATER);
      if (!moved) expect(payment).toEqual({ ...before, codes: { rawCode: "done" } });
    }
  });
});

describe("a sale whose response was lost, and that is found before its capture", () => {
  const lost = aPayment({ attempt: anAttempt("authorize", { state: "unknown" }) }, "capture");
  const state = { kind: "capturing", providerId: "pay_1", authorizedAmount: 1000, codes: {} } as const;

  it("waits for the capture, not for the authorization", () => {
    const { payment } = applyState(lost, state, LATER);
    expect(payment.status).toBe("capture_pending");
    expect(payment.attempt).toMatchObject({ operation: "capture", state: "accepted", amount: 1000 });
    const { key } = payment.attempt ?? anAttempt("capture");
    const after = applyFollowUp(payment, { operation: "capture", amount: 1000, key }, refused, LATER).payment;
    expect(after).toMatchObject({ status: "authorization_void_pending", attempt: { operation: "void" } });
  });

  it("keeps a capture of ours that is found this way, with its amount", () => {
    const begun = authorized({ attempt: anAttempt("capture") });
    const { payment } = applyState(begun, state, LATER);
    expect(payment.attempt).toMatchObject({ key: "capture-1", amount: 500, state: "accepted" });
    expect(payment.captures).toBe(begun.captures);
  });
});

describe("cancelling a payment whose approval time is over", () => {
  const open = aPayment({ status: "buyer_approval_pending", approvalExpiresAt: NOW });
  const failed = { status: "authorization_failed", errorCode: "incomplete_buyer_approval", intentOutcome: "failed" };

  it("fails it if the service did so or is processing it, and looks once more", () => {
    const end = applyCancellation(open, done, LATER).payment;
    expect(end).toMatchObject(failed);
    expect(end.dueAt).toBeUndefined();
    const taken = applyCancellation(open, accepted, LATER).payment;
    expect(taken).toMatchObject(failed);
    expect(taken.dueAt?.getTime()).toBeGreaterThan(LATER);
  });

  it.each([unknown, refused])("leaves it open if the response is $kind", (outcome) => {
    expect(applyCancellation(open, outcome, LATER).payment).toEqual(open);
  });

  it("releases an approval that arrived meanwhile", () => {
    const approved: Payment = authorized();
    expect(applyCancellation(approved, done, LATER).payment).toMatchObject({
      ...{ status: "authorization_voided", voidedAt: LATER },
    });
    expect(applyCancellation(approved, accepted, LATER).payment).toMatchObject({
      ...{ status: "authorization_void_pending", attempt: { operation: "void", state: "accepted" } },
    });
    expect(applyCancellation(approved, refused, LATER).payment).toEqual(approved);
  });
});

test.each([
  ["in time", NOW + 3_600_000, "canceled"],
  ["after its time", NOW, "incomplete_buyer_approval"],
])("a payment released by the service before approval, %s, fails with a reason", (_when, until, errorCode) => {
  const open = aPayment({ status: "buyer_approval_pending", approvalExpiresAt: until });
  const { payment } = applyState(open, { kind: "voided", providerId: "pi_1", expired: false, codes: {} }, LATER);
  expect(payment).toMatchObject({ status: "authorization_failed", errorCode });
  expect(payment.voidedAt).toBeUndefined();
});
