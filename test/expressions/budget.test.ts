import { describe, expect, test } from "vitest";
import { Budget } from "../../src/expressions/budget.js";
import { Rejection } from "../../src/expressions/rejection.js";

function useProcessor(microseconds: number): void {
  const start = process.cpuUsage();
  let used = 0;
  while (used < microseconds) used = process.cpuUsage(start).user;
}

describe("work", () => {
  test("is refused past the limit, and from then on", () => {
    const budget = new Budget();
    budget.spend(1_000_000);
    expect(budget.exhausted).toBe(false);
    expect(() => budget.spend(1)).toThrow(Rejection);
    expect(budget.exhausted).toBe(true);
    expect(() => budget.spend(0)).toThrow(Rejection);
  });

  test("work that is already done counts at the next step only", () => {
    const budget = new Budget();
    budget.account(5_000_000);
    expect(budget.exhausted).toBe(false);
    expect(() => budget.spend(1)).toThrow(Rejection);
  });
});

describe("results", () => {
  test("count each time they are used", () => {
    const budget = new Budget();
    const text = "x".repeat(4_000_000);
    budget.produce(text);
    budget.produce(text);
    expect(() => budget.produce(text)).toThrow(Rejection);
  });
});

describe("time", () => {
  test("is limited for work that costs more than its price", () => {
    const budget = new Budget();
    const spin = () => {
      for (;;) {
        budget.spend(1_000);
        useProcessor(1_000);
      }
    };
    expect(() => budget.timed(spin)).toThrow(Rejection);
  });

  test("between two evaluations does not count", () => {
    const budget = new Budget();
    budget.timed(() => budget.spend(30_000));
    useProcessor(80_000);
    expect(budget.timed(() => budget.spend(30_000))).toBeUndefined();
    expect(budget.exhausted).toBe(false);
  });
});

describe("sizes", () => {
  test.each([
    ["text", 6],
    [12, 8],
    [null, 8],
    [true, 8],
    [[], 2],
    [["text", "text"], 16],
    [{ a: "text" }, 13],
    [new Uint8Array(5), 5],
  ])("are counted for %j", (value, size) => {
    expect(new Budget().sizeOf(value)).toBe(size);
  });

  test("count shared parts where they appear", () => {
    const part = { a: "text" };
    expect(new Budget().sizeOf([part, part])).toBe(30);
  });

  test("are not measured far beyond the limit", () => {
    const row = Array.from({ length: 1_000 }, (_, n) => n);
    const size = new Budget().sizeOf(Array.from({ length: 10_000 }, () => [...row]));
    expect(size).toBeGreaterThan(1_000_000);
    expect(size).toBeLessThan(1_100_000);
  });
});

test("keys are counted", () => {
  const budget = new Budget();
  const value = { a: 1, b: 2 };
  expect([budget.keyCount(value), budget.keyCount(value), budget.keyCount({})]).toEqual([2, 2, 0]);
});
