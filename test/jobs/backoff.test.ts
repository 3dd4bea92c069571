import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Backoff } from "../../src/jobs/backoff.js";

const DELAYS = { first: 1_000, most: 300_000 };

describe("a receiver that fails", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  /** How long it rests now, to a tenth of a second. */
  const restOf = (backoff: Backoff) => {
    let rested = 0;
    for (; backoff.isResting && rested < 1_000_000; rested += 100) vi.advanceTimersByTime(100);
    return rested;
  };

  it("rests twice as long after each failure, with up to a quarter less, and five minutes at most", () => {
    const backoff = new Backoff(DELAYS, () => {});
    for (let failure = 0; failure < 14; failure += 1) {
      backoff.failed("down");
      const wait = Math.min(1_000 * 2 ** Math.min(failure, 10), 300_000);
      const rested = restOf(backoff);
      expect(rested).toBeGreaterThanOrEqual(0.75 * wait - 100);
      expect(rested).toBeLessThanOrEqual(wait + 100);
    }
  });

  it("rests first for the shortest time again after a success", () => {
    const backoff = new Backoff(DELAYS, () => {});
    for (let failure = 0; failure < 6; failure += 1) backoff.failed("down");
    restOf(backoff);
    backoff.succeeded();
    backoff.failed("down");
    expect(restOf(backoff)).toBeLessThanOrEqual(1_100);
  });

  it.each([
    [60_000, 60_000],
    [0, 0],
    [86_400_000, 300_000],
  ])("rests as long as it asks for, and no longer than the most: %i ms is %i ms", (asked, rested) => {
    const backoff = new Backoff(DELAYS, () => {});
    backoff.failed("busy", asked);
    expect(Math.abs(restOf(backoff) - rested)).toBeLessThanOrEqual(100);
  });

  it("is reported at its first failure, and when it works again", () => {
    const reports: (string | undefined)[] = [];
    const backoff = new Backoff(DELAYS, (problem) => reports.push(problem));
    backoff.succeeded();
    for (const problem of ["down", "still down"]) backoff.failed(problem);
    for (let success = 0; success < 2; success += 1) backoff.succeeded();
    backoff.failed("down again");
    expect(reports).toEqual(["down", undefined, "down again"]);
  });
});
