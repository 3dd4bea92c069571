import { describe, expect, it } from "vitest";
import { OverloadDetector } from "../../../src/store/transactions/overload-detector.js";

/** Requests that arrive, each at a time in ms and with this many in flight. Returns the times of those rejected. */
function rejected(arrivals: readonly (readonly [at: number, inFlight: number])[]): number[] {
  const detector = new OverloadDetector();
  return arrivals.filter(([at, inFlight]) => detector.isOverloaded(inFlight, at)).map(([at]) => at);
}

describe("requests in flight", () => {
  it.each([
    ["below the limit, for ever", [0, 2_000, 100_000].map((at) => [at, 159] as const)],
    ["far above it, for a second", [0, 500, 1_000].map((at) => [at, 5_000] as const)],
    [
      "above it again and again, and below it in between",
      [0, 900, 1_000, 1_900, 2_100].map((at, n) => [at, n % 2 === 1 ? 10 : 300] as const),
    ],
  ] as const)("are served: %s", (_, arrivals) => {
    expect(rejected(arrivals)).toEqual([]);
  });

  it("are rejected once more of them arrive for longer than a second", () => {
    const arrivals = [0, 400, 1_001, 1_002].map((at) => [at, 300] as const);
    expect(rejected([...arrivals, [1_003, 159], [1_004, 160]])).toEqual([1_001, 1_002, 1_004]);
  });

  it("are served as before five seconds after the last rejected one", () => {
    const flood = [0, 1_001].map((at) => [at, 300] as const);
    expect(rejected([...flood, [6_000, 300], [6_500, 10], [11_001, 300], [11_900, 300]])).toEqual([1_001, 6_000]);
  });

  it("are not rejected after a short burst, such as after a pause of the process, but are after a long one", () => {
    const flood = [0, 1_001].map((at) => [at, 300] as const);
    const moment = [5_900, 5_910].map((at) => [at, 300] as const);
    expect(rejected([...flood, [5_000, 10], ...moment, [5_950, 10], [6_100, 300]])).toEqual([1_001, 5_900, 5_910]);
    const long = [5_500, 5_700, 5_900].map((at) => [at, 300] as const);
    const after = [10_800, 11_000].map((at) => [at, 300] as const);
    expect(rejected([...flood, [5_000, 10], ...long, [6_000, 10], ...after])).toEqual([
      1_001, 5_500, 5_700, 5_900, 10_800,
    ]);
  });
});
