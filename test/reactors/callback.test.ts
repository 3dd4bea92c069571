import { describe, expect, it } from "vitest";
import { retryDelay } from "../../src/reactors/callback.js";

describe("retries of a result that its callback address did not accept", () => {
  const delays = Array.from({ length: 20 }, (_, attempt) => retryDelay(attempt));
  const waits = delays.flatMap((delay) => delay ?? []);

  it("are ten, and none follows the last", () => {
    expect(waits).toHaveLength(10);
    expect(delays.slice(10).every((delay) => delay === undefined)).toBe(true);
  });

  it("come after 8.8 s, then each after twice the time, to 75 min", () => {
    expect(waits[0]).toBe(8_800);
    for (const [index, wait] of waits.slice(1).entries()) expect(wait).toBe(2 * (waits[index] ?? 0));
    expect(Math.round((waits.at(-1) ?? 0) / 60_000)).toBe(75);
  });

  it("end after two and a half hours", () => {
    const hours = waits.reduce((sum, wait) => sum + wait, 0) / 3_600_000;
    expect(hours).toBeGreaterThan(2.49);
    expect(hours).toBeLessThan(2.51);
  });
});
