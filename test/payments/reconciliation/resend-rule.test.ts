import { describe, expect, it } from "vitest";
import { FORMULA_IDS, type FormulaId } from "../../../src/payments/contract/formula.js";
import type { LookUpOutcome } from "../../../src/payments/contract/outcome.js";
import type { Payment } from "../../../src/payments/lifecycle/payment.js";
import { shouldResend } from "../../../src/payments/reconciliation/resend-rule.js";
import { anAttempt, aPayment, aRefund, authorized, captured, NOW } from "../sample-payment.js";

const HOUR_MS = 3_600_000;
const DAY = 24;
/** Hours after the first sending at which a look-up ends. */
const HOURS = [1, 6, 8, 22, DAY, 6 * DAY, 7 * DAY] as const;

const unknown: LookUpOutcome = { kind: "unknown", codes: {} };
const unsupported: LookUpOutcome = { kind: "unsupported" };
const absent: LookUpOutcome = { kind: "absent" };
const known = { providerId: "pi_1", amount: 800, codes: {} };
const found = { kind: "found", state: { kind: "captured", ...known } } as const satisfies LookUpOutcome;

const at = (formulaId: FormulaId) => ({ formulaId, method: "card", displayName: "Shop" }) as const;
const hours = (payment: Payment, outcome: LookUpOutcome) =>
  HOURS.filter((hour) => shouldResend(payment, outcome, NOW + hour * HOUR_MS));

describe("an authorization of unknown end", () => {
  const pending = (formulaId: FormulaId) =>
    aPayment({
      ...{ status: "processing", connection: at(formulaId) },
      attempt: anAttempt("authorize", { state: "unknown", account: "here" }),
    });

  it.each(FORMULA_IDS)("is sent again to %s if a look-up shows that the service does not have it", (formulaId) => {
    expect(hours(pending(formulaId), absent)).toEqual(HOURS);
  });

  it.each(FORMULA_IDS)("is not sent again to %s if it was found, or if nothing is known", (formulaId) => {
    expect(hours(pending(formulaId), found)).toEqual([]);
    expect(hours(pending(formulaId), unknown)).toEqual([]);
  });

  it("is sent again to a service without look-ups only while that detects the repetition", () => {
    expect(hours(pending("adyen-card"), unsupported)).toEqual([1, 6, 8, 22, DAY, 6 * DAY]);
  });

  it("is sent, however late, if it was planned and never sent", () => {
    const { account: _, ...planned } = anAttempt("authorize", { account: "here" });
    expect(hours({ ...pending("adyen-card"), attempt: planned }, unsupported)).toEqual(HOURS);
  });
});

describe("a refund whose response was lost", () => {
  const refund = aRefund();
  const attempt = anAttempt("refund", { refundId: refund.id, state: "unknown", account: "here" });
  const pending = (formulaId: FormulaId) => captured({ attempt, connection: at(formulaId) });

  it.each(FORMULA_IDS)("is sent again to %s whenever its list does not contain it", (formulaId) => {
    expect(hours(pending(formulaId), { ...found, refunds: [] })).toEqual(HOURS);
  });

  it.each([
    ["stripe-card", found, [1, 6, 8, 22]],
    ["checkoutcom-card", found, []],
    ["authorizenet-card", found, [1, 6, 8, 22, 24, 6 * 24, 7 * 24]],
    ["adyen-card", unsupported, [1, 6, 8, 22, 24, 6 * 24]],
  ] as const)(
    "is sent again to %s without a list only while it knows the same, or is asked for it first",
    (formulaId, outcome, expected) => {
      expect(hours(pending(formulaId), outcome)).toEqual(expected);
    },
  );

  it("is sent, however late, if it was planned and never sent", () => {
    const { account: _, ...planned } = attempt;
    const payment = { ...pending("checkoutcom-card"), attempt: planned };
    expect(shouldResend(payment, found, NOW + 30 * 24 * HOUR_MS)).toBe(true);
  });

  it("is never sent while nothing is known, or once the service accepted it", () => {
    expect(hours(pending("adyen-card"), unknown)).toEqual([]);
    expect(hours(pending("stripe-card"), absent)).toEqual([]);
    const accepted = captured({ attempt: { ...attempt, state: "accepted" } });
    expect(shouldResend(accepted, { ...found, refunds: [] }, NOW)).toBe(false);
  });
});

describe("a capture of unknown end", () => {
  const pending = authorized({
    ...{ status: "capture_pending", connection: at("adyen-card") },
    attempt: anAttempt("capture", { state: "unknown", account: "here" }),
  });

  it("is sent again to a service without look-ups only while that detects the repetition", () => {
    expect(hours(pending, unsupported)).toEqual([1, 6, 8, 22, DAY, 6 * DAY]);
  });

  it("is sent again if the payment is found and still authorized", () => {
    expect(hours(pending, { kind: "found", state: { kind: "authorized", ...known } })).toEqual(HOURS);
    expect(hours(pending, found)).toEqual([]);
  });
});

describe("a capture at a service that cannot look it up", () => {
  /** Hours for which each service detects the repetition, less one. */
  const DETECTED_HOURS: Readonly<Record<FormulaId, number>> = {
    "simulator-card": Number.POSITIVE_INFINITY,
    "stripe-card": 23,
    "adyen-card": 167,
    "checkoutcom-card": 0,
    "authorizenet-card": Number.POSITIVE_INFINITY,
  };

  it.each(FORMULA_IDS)("is sent again to %s for its hours, and no longer", (id) => {
    const attempt = anAttempt("capture", { state: "unknown", account: "here" });
    const payment = authorized({ attempt, connection: at(id) });
    const detects = (hour: number) => shouldResend(payment, unsupported, NOW + hour * HOUR_MS);
    for (const hour of [0, 1, 22.9, 23, 24, 166.9, 167, 10_000])
      expect([hour, detects(hour)]).toEqual([hour, hour < DETECTED_HOURS[id]]);
  });
});
