import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fault } from "../../../src/base/fault.js";
import { newTenantId, newUuid } from "../../../src/base/ids.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import { MAX_READ_BYTES } from "../../../src/store/transactions/large-reads.js";
import type { Transaction } from "../../../src/store/transactions/transaction.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { keyProof } from "../../support/memory.js";
import { FIRST_REVISION, insertAndLog, openFixture } from "../support/batcher-fixture.js";
import { namedRowExists } from "../support/named-rows.js";

const MB = 1024 * 1024;

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

/** The memory for bodies, and requests of one key with a part of it. */
function newMemory() {
  const budget = new MemoryBudget(5 * MB);
  const proof = keyProof(newTenantId(), newUuid());
  const open = () => {
    const lease = budget.open(() => "10.0.0.1");
    lease.prove(proof);
    return lease;
  };
  return { budget, open };
}

describe("work that reads large values", () => {
  it("waits for memory outside of its transaction, and runs again from its start", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const { budget, open } = newMemory();
    const free = budget.large.left;
    const holders = Array.from({ length: 16 }, open);
    for (const holder of holders) holder.reserveReadNow(5 * MB);
    const request = open();
    let starts = 0;
    const work = async (tx: Transaction) => {
      starts += 1;
      insertAndLog(tx, "read");
      await tx.query(namedRowExists, "read");
      tx.reserve(5 * MB);
      tx.reserve(MB);
      return "done";
    };
    const reading = fixture.batcher.run(fixture.tenantId, FIRST_REVISION, work, request);
    // With one connection, this one is served only because the other does not hold it.
    await expect.poll(() => budget.large.waiting).toBe(1);
    await fixture.insert("beside");
    expect(starts).toBe(1);
    for (const holder of holders) holder.close();
    await expect(reading).resolves.toBe("done");
    expect(starts).toBeGreaterThan(1);
    expect(await fixture.names()).toEqual(["beside", "read"]);
    expect(free - budget.large.left, "kept until the response").toBe(4 * 6 * MB);
    request.close();
    expect(budget.large.left).toBe(free);
  });

  it("gives back what it reserved if it fails, and reads at most 16 MB, or one larger value", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const { budget, open } = newMemory();
    const free = budget.large.left;
    const run = (...sizes: readonly number[]) =>
      fixture.batcher.run(
        fixture.tenantId,
        FIRST_REVISION,
        async (tx) => {
          for (const size of sizes) tx.reserve(size);
          if (sizes.length === 1) throw new Fault("conflict", "No.");
        },
        open(),
      );
    await expect(run(MAX_READ_BYTES - 10, 11)).rejects.toMatchObject({ code: "validation_failed" });
    await expect(run(2 * MAX_READ_BYTES)).rejects.toMatchObject({ code: "conflict" });
    expect(budget.large.left).toBe(free);
  });

  it("ends when its caller disconnects", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const { budget, open } = newMemory();
    const holders = Array.from({ length: 16 }, open);
    for (const holder of holders) holder.reserveReadNow(5 * MB);
    const request = open();
    const work = async (tx: Transaction) => tx.reserve(5 * MB);
    const reading = fixture.batcher.run(fixture.tenantId, FIRST_REVISION, work, request);
    const left = expect(reading).rejects.toMatchObject({ code: "unavailable" });
    await expect.poll(() => budget.large.waiting).toBe(1);
    request.close();
    await left;
    expect(budget.large.waiting).toBe(0);
  });
});
