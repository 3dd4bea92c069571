import { describe, expect, it } from "vitest";
import { LOOK_UP_LIMIT_MS, lookUpDelay, scheduleLookUp } from "../../../src/payments/lifecycle/look-up-schedule.js";
import { anAttempt, aPayment, NOW } from "../sample-payment.js";

const HOUR_MS = 3_600_000;

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
