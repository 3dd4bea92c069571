import { describe, expect, it } from "vitest";
import type { FollowUpOutcome } from "../../../src/payments/contract/outcome.js";
import { withAccountSentTo } from "../../../src/payments/lifecycle/account-fingerprint.js";
import { applyLookUp } from "../../../src/payments/lifecycle/apply-look-up.js";
import {
  applyCancellation,
  applyFollowUp,
  applyState,
  beginAttempt,
} from "../../../src/payments/lifecycle/apply-outcome.js";
import { applyReport } from "../../../src/payments/lifecycle/apply-report.js";
import { rememberEnded } from "../../../src/payments/lifecycle/ended-operations.js";
import type { Payment } from "../../../src/payments/lifecycle/payment.js";
import { anAttempt, aPayment, authorized, NOW } from "../sample-payment.js";

const LATER = NOW + 90_000;
const refused = { kind: "refused", as: "failed", errorCode: "unexpected_state", codes: {} } as const;
const accepted: FollowUpOutcome = { kind: "accepted", providerId: "act_1", codes: {} };

const told = (payment: Payment, kind: "capture" | "void", providerId: string) =>
  applyReport(payment, { kind, providerId, outcome: refused }, LATER, []).payment;

/** The next attempt, sent, and not answered yet. */
const again = (payment: Payment, operation: "capture" | "void") =>
  withAccountSentTo(beginAttempt(payment, operation, 500, LATER), "here");

describe.each(["capture", "void"] as const)("a %s that was refused", (operation) => {
  const status = operation === "capture" ? "capture_pending" : "authorization_void_pending";
  const first = authorized({ status, attempt: anAttempt(operation, { account: "here", state: "unknown" }) });
  const named = authorized({
    ...{ status, attempt: anAttempt(operation, { account: "here", state: "accepted", providerId: "act_1" }) },
  });

  it.each([
    ["a webhook, before its own reference was known", told(first, operation, "act_1")],
    ["a webhook", told(named, operation, "act_1")],
    ["its response", applyFollowUp(named, { operation, amount: 500, key: named.attempt?.key }, refused, LATER).payment],
    [
      "a look-up",
      applyLookUp(
        named,
        {
          ...{ kind: "found", refusals: [{ operation, providerId: "act_1", outcome: refused }] },
          state: { kind: "authorized", providerId: "pi_1", amount: 1000, codes: {} },
        },
        LATER,
        [],
      ).payment,
    ],
  ])("%s ends no other when it is repeated", (_by, ended) => {
    expect(ended.attempt).toBeUndefined();
    const next = again(ended, operation);
    expect(told(next, operation, "act_1").attempt).toEqual(next.attempt);
    // Its own refusal ends it.
    expect(told(next, operation, "act_2").attempt).toBeUndefined();
  });
});

describe("a cancelled payment", () => {
  const open = aPayment({ status: "buyer_approval_pending", approvalExpiresAt: NOW });

  it("is released after a late approval, although the cancellation is refused", () => {
    const failed = applyCancellation(open, accepted, LATER).payment;
    const state = { kind: "authorized", providerId: "pi_1", amount: 1000, codes: {} } as const;
    const late = applyState(failed, state, LATER).payment;
    expect(late.attempt).toMatchObject({ operation: "void" });
    // Also if the response to the cancellation was lost with its name.
    expect(told(late, "void", "act_1").attempt).toEqual(late.attempt);
    expect(told(late, "void", "act_9").attempt).toEqual(late.attempt);
    const sent = withAccountSentTo(late, "here");
    expect(told(sent, "void", "act_1").attempt).toEqual(sent.attempt);
    expect(told(sent, "void", "act_2").status).toBe("authorization_succeeded");
  });

  it("uses the cancellation as its void if it was approved meanwhile; a look-up finds the refusal", () => {
    const pending = applyCancellation(authorized(), accepted, LATER).payment;
    expect(pending.attempt).toMatchObject({ operation: "void", state: "accepted", providerId: "act_1" });
    const state = { kind: "authorized", providerId: "pi_1", amount: 1000, codes: {} } as const;
    const refusals = [{ operation: "void", providerId: "act_1", outcome: refused } as const];
    const { payment } = applyLookUp(pending, { kind: "found", state, refusals }, LATER, []);
    expect([payment.status, payment.attempt]).toEqual(["authorization_succeeded", undefined]);
  });

  it("a webhook about the shop's own void does not end our cancellation", () => {
    const begun = again(authorized(), "void");
    const { attempt, ...after } = applyCancellation(begun, accepted, LATER).payment;
    expect([attempt?.key, attempt?.providerId]).toEqual([begun.attempt?.key, undefined]);
    expect(told({ ...after, attempt }, "void", "act_1").attempt).toEqual(attempt);
  });
});

it("remembers the latest few", () => {
  const ids = Array.from({ length: 20 }, (_, index) => `act_${index}`);
  const payment = ids.reduce((before, id) => rememberEnded(before, id, id, undefined), aPayment());
  expect(payment.endedIds).toEqual(ids.slice(-8));
});
