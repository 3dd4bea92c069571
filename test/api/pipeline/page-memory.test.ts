import { describe, expect, it } from "vitest";
import { PageMemory } from "../../../src/api/pipeline/page-memory.js";
import { newTenantId, newUuid } from "../../../src/base/ids.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import { keyProof } from "../../support/memory.js";

const LARGEST = 5 * 1024 * 1024;

describe("the memory for a stream's large values", () => {
  it("is that of one page, however many pages it has", async () => {
    const budget = new MemoryBudget(LARGEST);
    const [tenant, application] = [newTenantId(), newUuid()];
    const request = budget.open(() => "10.0.0.1");
    request.prove(keyProof(tenant, application));
    const memory = new PageMemory(request);
    const held: number[] = [];
    for (let page = 0; page < 1_000; page += 1) {
      if (page % 2 === 0) memory.reserveReadNow(LARGEST / 2);
      else await memory.reserveRead(LARGEST / 2);
      held.push(request.bodyBytes);
      memory.release();
    }
    expect(new Set(held).size).toBe(1);
    expect(held[0]).toBeGreaterThan(0);
    expect(request.bodyBytes).toBe(0);
  });

  it("counts towards the share of its application while the page is under way", () => {
    const budget = new MemoryBudget(LARGEST);
    const proof = keyProof(newTenantId(), newUuid());
    const streams = Array.from({ length: 100 }, () => {
      const request = budget.open(() => "10.0.0.1");
      request.prove(proof);
      return new PageMemory(request);
    });
    const reading = streams.filter((stream) => stream.reserveReadNow(LARGEST) !== undefined);
    expect(reading.length).toBeGreaterThan(0);
    expect(reading.length).toBeLessThan(10);
    for (const stream of reading) stream.release();
    expect(streams.at(-1)?.reserveReadNow(LARGEST)).toBeDefined();
  });
});
