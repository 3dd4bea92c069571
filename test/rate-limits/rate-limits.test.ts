import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { counterSettings, memoryRateLimits, type RateVerdict, rateLimits } from "../../src/rate-limits/rate-limits.js";
import { DOCUMENTED_POINTS, RATE_SCOPES, type RatePoints, type RateScope } from "../../src/rate-limits/rate-scope.js";
import { secondsOfLimit } from "../../src/rate-limits/sign-in-limits.js";

const POINTS: RatePoints = { global: 5, portal: 4, token_read: 2, token_write: 3, token_search: 9, token_bulk: 9 };

/** Counts requests of these scopes, and returns the last verdict. */
async function lastOf(
  scopes: readonly (RateScope | undefined)[],
  limits = memoryRateLimits(POINTS),
): Promise<RateVerdict | undefined> {
  let verdict: RateVerdict | undefined;
  for (const scope of scopes) verdict = await limits.count("client", scope);
  return verdict;
}
const times = (count: number, scope: RateScope) => new Array<RateScope>(count).fill(scope);

describe("the verdict on a request", () => {
  it.each<[string, readonly (RateScope | undefined)[], Partial<RateVerdict>]>([
    ["the first of no scope", [undefined], { scope: "global", limit: 5, remaining: 4, isExceeded: false }],
    [
      "the first of a scope that has less left",
      ["token_read"],
      { scope: "token_read", limit: 2, remaining: 1, isExceeded: false },
    ],
    ["the first of a scope that has more left", ["token_search"], { scope: "global", remaining: 4, isExceeded: false }],
    ["one of a scope with as much left", ["portal", undefined, "portal"], { scope: "portal", remaining: 2 }],
    ["the last that a scope allows", times(2, "token_read"), { scope: "token_read", remaining: 0, isExceeded: false }],
    ["the next", times(3, "token_read"), { scope: "token_read", remaining: 0, isExceeded: true }],
    [
      "one of another scope after that",
      [...times(3, "token_read"), "token_write"],
      { scope: "global", remaining: 1, isExceeded: false },
    ],
    [
      "the sixth of any scope",
      ["token_read", "token_write", "token_search", "portal", undefined, "portal"],
      { scope: "global", limit: 5, isExceeded: true },
    ],
    ["one that counts as global alone", ["global"], { scope: "global", remaining: 4 }],
  ])("is about the scope with the least left: %s", async (_, scopes, verdict) => {
    expect(await lastOf(scopes)).toMatchObject(verdict);
  });

  it("is about this client alone", async () => {
    const limits = memoryRateLimits(POINTS);
    await lastOf(times(9, "token_read"), limits);
    expect(await limits.count("another", "token_read")).toMatchObject({ isExceeded: false, remaining: 1 });
  });

  it("does not count a request in its own scope that the global limit refuses", async () => {
    const limits = memoryRateLimits({ ...POINTS, global: 1 });
    expect(await lastOf(["token_search", "token_search"], limits)).toMatchObject({ scope: "global", isExceeded: true });
  });
});

describe("the time of a window", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is ten seconds, and a client that exceeds its limit waits ten more", async () => {
    const limits = memoryRateLimits(POINTS);
    expect(await lastOf(times(2, "token_read"), limits)).toMatchObject({ resetAfter: 10, isExceeded: false });
    vi.advanceTimersByTime(9_000);
    expect(await lastOf(["token_read"], limits)).toMatchObject({ resetAfter: 10, isExceeded: true });
    vi.advanceTimersByTime(9_100);
    expect(await lastOf(["token_read"], limits)).toMatchObject({ resetAfter: 1, isExceeded: true });
    vi.advanceTimersByTime(1_000);
    expect(await lastOf(["token_read"], limits)).toMatchObject({ remaining: 1, isExceeded: false });
  });

  it("is at least a second for the client, because no seconds would mean no wait", async () => {
    const limits = memoryRateLimits(POINTS);
    await lastOf(["token_read"], limits);
    vi.advanceTimersByTime(9_999);
    expect(await lastOf(["token_read"], limits)).toMatchObject({ resetAfter: 1 });
  });
});

describe("the counter of a scope", () => {
  it.each(RATE_SCOPES)("has its own limit and its own keys: %s", (scope) => {
    expect(counterSettings(scope, DOCUMENTED_POINTS)).toEqual({
      points: DOCUMENTED_POINTS[scope],
      duration: 10,
      blockDuration: 10,
      keyPrefix: `cloakroom:rate:${scope}`,
    });
  });

  it("fails the request if it fails by itself", async () => {
    const broken = {
      get: () => Promise.reject(new Error("broken")),
      consume: () => Promise.reject(new Error("broken")),
    };
    await expect(rateLimits(POINTS, () => broken).count("client", undefined)).rejects.toThrow("broken");
  });
});

describe("limits of sign-ins", () => {
  it.each([
    ["pair", 600],
    ["link", 60],
    ["browser", 3_600],
    ["openid", 60],
    ["passkey", 60],
    ["device", 60],
    ["vault", 60],
  ] as const)("count over their time: %s", (name, seconds) => {
    expect(secondsOfLimit(name)).toBe(seconds);
  });
});
