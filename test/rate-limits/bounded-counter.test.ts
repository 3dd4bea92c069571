import { RateLimiterRes } from "rate-limiter-flexible";
import { describe, expect, it } from "vitest";
import { BoundedCounter } from "../../src/rate-limits/bounded-counter.js";
import { signInLimits } from "../../src/rate-limits/sign-in-limits.js";

const networkOf = (number: number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;

describe("a bounded counter", () => {
  it("refuses what is above its points, until its time is over", async () => {
    let now = 0;
    const counter = new BoundedCounter({ points: 2, duration: 60 }, () => now);
    expect(await counter.consume("a")).toMatchObject({
      consumedPoints: 1,
      remainingPoints: 1,
      isFirstInDuration: true,
    });
    expect(await counter.consume("a")).toMatchObject({ consumedPoints: 2, remainingPoints: 0 });
    now = 59_999;
    await expect(counter.consume("a")).rejects.toBeInstanceOf(RateLimiterRes);
    await expect(counter.consume("a")).rejects.toMatchObject({ msBeforeNext: 1 });
    expect((await counter.consume("b")).consumedPoints).toBe(1);
    now = 60_000;
    expect(await counter.get("a")).toBeNull();
    expect((await counter.consume("a")).consumedPoints).toBe(1);
  });

  it("refuses for longer what has exceeded its points, where it blocks", async () => {
    let now = 0;
    const counter = new BoundedCounter({ points: 1, duration: 10, blockDuration: 30 }, () => now);
    await counter.consume("a");
    now = 9_000;
    await expect(counter.consume("a")).rejects.toMatchObject({ msBeforeNext: 30_000 });
    now = 38_999;
    for (let key = 0; key < 10; key += 1) await counter.consume(`${key}`);
    await expect(counter.consume("a")).rejects.toMatchObject({ msBeforeNext: 1 });
    now = 39_000;
    expect((await counter.consume("a")).consumedPoints).toBe(1);
  });

  it("forgets ended keys as new ones come", async () => {
    let now = 0;
    const counter = new BoundedCounter({ points: 1, duration: 60 }, () => now);
    for (let round = 0; round < 5; round += 1, now += 60_000) {
      for (let key = 0; key < 1_000; key += 1) await counter.consume(`${round} ${key}`);
    }
    expect(counter.size).toBe(2_000);
  });
});

it("200,000 made-up pairs of address and network fill no memory, and a member is answered all along", async () => {
  const counters: BoundedCounter[] = [];
  const limits = signInLimits((settings) => {
    const counter = new BoundedCounter(settings, () => 0);
    counters.push(counter);
    return counter;
  });
  const attempt = (email: string, network: string) =>
    limits.allows({ kind: "link", tenantId: "tenant", email, network });
  let largest = 0;
  for (let number = 0; number < 200_000; number += 1) {
    await attempt(`${number % 7 === 0 ? "ada" : number}@example.com`, networkOf(number));
    if (number % 20_000 !== 0) continue;
    largest = Math.max(largest, ...counters.map(({ size }) => size));
    expect(await attempt("ada@example.com", "192.0.2.0")).toBe(true);
  }
  expect(largest).toBeLessThanOrEqual(50_000);
});
