import { describe, expect, it } from "vitest";
import { Fault } from "../../src/base/fault.js";
import { requireStorable } from "../../src/tokens/stored-size.js";

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));

describe("what a patch was merged into", () => {
  it.each<[string, Buffer]>([
    ["bytes", json("x".repeat(1_000_000))],
    ["values", json(Array.from({ length: 50_001 }, () => 1))],
    ["names", json(named(10_001))],
  ])("may not grow beyond the limits, and may shrink or stay if it is beyond them: %s", (_, after) => {
    const store = (before: number) => () =>
      requireStorable({ field: "data", after, bytesBefore: () => before, otherBytes: 2 }, 900_000);
    expect(store(after.length - 1)).toThrow(Fault);
    expect(store(after.length)).not.toThrow();
    expect(store(after.length + 1)).not.toThrow();
  });

  it("counts data and mask together", () => {
    const after = json("x".repeat(500_000));
    const store = (otherBytes: number) => () =>
      requireStorable({ field: "mask", after, bytesBefore: () => 2, otherBytes }, 900_000);
    expect(store(900_000 - after.length)).not.toThrow();
    expect(store(900_001 - after.length)).toThrow(Fault);
  });

  it("is not measured before if it is within the limits", () => {
    const measure = () => {
      throw new Error("was measured");
    };
    const value = { field: "data", after: json(named(9_000)), bytesBefore: measure, otherBytes: 2 };
    expect(() => requireStorable(value, 900_000)).not.toThrow();
  });
});
