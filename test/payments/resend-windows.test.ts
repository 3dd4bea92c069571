import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactUuid, expandUuid } from "../../src/base/compact-uuid.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { ERROR_CODES, isCredentialsError, isDecline } from "../../src/payments/error-code.js";
import { FORMULA_IDS, type FormulaId } from "../../src/payments/formula.js";
import { LOOK_UP_LIMIT_MS, lookUpDelay, scheduleLookUp } from "../../src/payments/look-up-schedule.js";
import { reconcileResend } from "../../src/payments/reconcile-resend.js";
import { shouldResend } from "../../src/payments/resend.js";
import { decodeSignedPath } from "../../src/payments/signed-path.js";
import { anAttempt, aPayment, authorized, NOW } from "./sample-payment.js";

const HOUR_MS = 3_600_000;

describe("a capture at a service that cannot look it up", () => {
  /** Hours for which each service detects the repetition, less one. */
  const HOURS: Readonly<Record<FormulaId, number>> = {
    "simulator-card": Number.POSITIVE_INFINITY,
    "stripe-card": 23,
    "adyen-card": 167,
    "checkoutcom-card": 0,
    "authorizenet-card": Number.POSITIVE_INFINITY,
  };

  it.each(FORMULA_IDS)("is sent again to %s for its hours, and no longer", (id) => {
    const attempt = anAttempt("capture", { state: "unknown", account: "here" });
    const payment = authorized({ attempt, connection: { formulaId: id, method: "card", displayName: "Shop" } });
    const detects = (hours: number) => shouldResend(payment, { kind: "unsupported" }, NOW + hours * HOUR_MS);
    for (const hours of [0, 1, 22.9, 23, 24, 166.9, 167, 10_000])
      expect([hours, detects(hours)]).toEqual([hours, hours < HOURS[id]]);
  });
});

describe("a refusal of a request that may have been executed before", () => {
  const NOT_EXECUTED = [
    ...["insufficient_service_permissions", "invalid_service_configuration", "invalid_service_credentials"],
    ...["service_network_error", "service_rate_limit", "service_resource_conflict"],
  ];
  const failed = (errorCode: (typeof ERROR_CODES)[number]) =>
    ({ kind: "failed", errorCode, codes: { rawCode: "1" } }) as const;

  it.each(ERROR_CODES)("for %s ends it only if the service judged the payment itself", (code) => {
    for (const state of ["unknown", "accepted"] as const) {
      const meant = reconcileResend({ state }, failed(code));
      if (NOT_EXECUTED.includes(code)) expect(meant).toEqual({ kind: "unknown", codes: { rawCode: "1" } });
      else expect(meant).toEqual(failed(code));
    }
  });

  it.each(ERROR_CODES)("ends the first sending for every reason: %s", (code) => {
    const outcome = failed(code);
    expect(reconcileResend({ state: "sent" }, outcome)).toBe(outcome);
  });

  it("never says that the service judged it for a reason that concerns the connection", () => {
    for (const code of ERROR_CODES.filter(isCredentialsError)) expect(NOT_EXECUTED).toContain(code);
    for (const code of ERROR_CODES.filter(isDecline)) expect(NOT_EXECUTED).not.toContain(code);
  });
});

describe("look-ups of a payment whose end is unknown", () => {
  const delays = (state: "unknown" | "accepted", count: number) => {
    let payment = aPayment({ attempt: anAttempt("authorize") });
    return Array.from({ length: count }, () => {
      payment = scheduleLookUp(payment, state, NOW);
      return ((payment.dueAt?.getTime() ?? 0) - NOW) / 1_000;
    });
  };

  it("come after 5 s, 15 s, 1 min, 5 min, 30 min, 2 h, and then every 12 h", () => {
    expect(delays("unknown", 9)).toEqual([5, 15, 60, 300, 1_800, 7_200, 43_200, 43_200, 43_200]);
  });

  it("come first after 2 s if the service accepted the request", () => {
    expect(delays("accepted", 4)).toEqual([2, 15, 60, 300]);
  });

  it("are five in the first 37 minutes, and seven in a day", () => {
    const times = delays("unknown", 9).map((_, index, all) =>
      all.slice(0, index + 1).reduce((sum, delay) => sum + delay, 0),
    );
    expect(times.filter((seconds) => seconds <= 37 * 60)).toHaveLength(5);
    expect(times.filter((seconds) => seconds * 1_000 <= LOOK_UP_LIMIT_MS)).toHaveLength(7);
  });

  it("do not follow without an operation", () => {
    const payment = aPayment();
    expect(scheduleLookUp(payment, "unknown", NOW)).toBe(payment);
  });

  it("wait for half of the time that a payment is unclear, and at least a minute", () => {
    expect([0, 60_000, 120_000, HOUR_MS].map(lookUpDelay)).toEqual([60_000, 60_000, 60_000, HOUR_MS / 2]);
  });
});

describe("our reference at a payment service", () => {
  it("is 22 letters and digits, and leads back to the id", () => {
    fc.assert(
      fc.property(fc.constant(0).map(newUuid), (id) => {
        expect(compactUuid(id)).toMatch(/^[0-9A-Za-z]{22}$/);
        expect(expandUuid(compactUuid(id))).toBe(id);
      }),
    );
  });

  it.each([
    ["too short", "a".repeat(21)],
    ["too long", "a".repeat(23)],
    ["beyond 128 bits", "z".repeat(22)],
    ["no letter or digit", `${"a".repeat(21)}-`],
    ["empty", ""],
  ])("is no id if it is %s", (_, text) => {
    expect(expandUuid(text)).toBeUndefined();
  });

  it("is not taken for an address of ours", () => {
    for (const text of ["", compactUuid(newUuid()), compactUuid(newTenantId()).repeat(4), "-".repeat(66)]) {
      expect(decodeSignedPath(text)).toBeUndefined();
    }
  });
});
