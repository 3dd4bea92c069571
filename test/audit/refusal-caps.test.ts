import { describe, expect, it } from "vitest";
import { RefusalMinute, ROWS_PER_SOURCE, ROWS_PER_TENANT } from "../../src/audit/refusal-caps.js";

const START = Date.UTC(2026, 10, 22, 14, 30);

describe("the refused keys of a tenant in one minute", () => {
  it("have ten rows for one source, and say how many more there were", () => {
    const minute = new RefusalMinute(START);
    const admitted = Array.from({ length: 25 }, (_, n) => minute.count("203.0.113.7", START + n * 1_000));
    expect(admitted.filter(Boolean)).toHaveLength(ROWS_PER_SOURCE);
    expect(minute.summary).toBe("15 more, from 14:30:10 to 14:30:24, sources: 1, 203.0.113.7 (15)");
  });

  it("have 60 rows for the tenant, from however many sources", () => {
    const minute = new RefusalMinute(START);
    const admitted = Array.from({ length: 2_000 }, (_, n) => minute.count(`10.0.${n >> 8}.${n & 255}`, START));
    expect(admitted.filter(Boolean)).toHaveLength(ROWS_PER_TENANT);
    expect(minute.summary).toMatch(/^1940 more, from 14:30:00 to 14:30:00, sources: 941, others \(1000\)/);
    expect(`Application Key refused: ${minute.summary}`.length).toBeLessThanOrEqual(200);
  });

  it("count a /64 of IPv6 as one source, and sources without an address for the tenant alone", () => {
    const minute = new RefusalMinute(START);
    const of6 = Array.from({ length: 12 }, (_, n) => minute.count(`2001:db8:0:1::${n + 1}`, START));
    expect(of6.filter(Boolean)).toHaveLength(ROWS_PER_SOURCE);
    const unknown = Array.from({ length: 60 }, () => minute.count(undefined, START));
    expect(unknown.filter(Boolean)).toHaveLength(ROWS_PER_TENANT - ROWS_PER_SOURCE);
    expect(minute.summary).toContain("sources: 2, unknown (10), 2001:db8:0:1::/64 (2)");
  });

  it("have no further row if all were admitted, and end with their minute", () => {
    const minute = new RefusalMinute(START + 30_000);
    expect(minute.count("203.0.113.7", START + 30_000)).toBe(true);
    expect(minute.summary).toBeUndefined();
    expect(minute.isOver(START + 59_999)).toBe(false);
    expect(minute.isOver(START + 60_000)).toBe(true);
  });
});
