import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuditContext, EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { findLogRows } from "../../src/audit/follow/find-log-rows.js";
import { prepareLogPage } from "../../src/audit/follow/log-page.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { newUuid, type TenantId, type Uuid } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { type Ledger, openLedger } from "./support/ledger.js";

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

/** Writes calls that share a transaction, their rows in turns, as requests that run together write them. */
async function write(tenantId: TenantId, sizes: readonly number[]): Promise<void> {
  ledger.clock.time += 10;
  const calls = sizes.map((rows) => ({ rows, traceId: newUuid() }));
  await ledger.database.of(tenantId).shared(async (tx) => {
    for (let row = 0; row < Math.max(...sizes); row += 1) {
      for (const { rows, traceId } of calls) {
        if (row >= rows) continue;
        const context: AuditContext = { ...EMPTY_CONTEXT, traceId };
        writeLog(tx, { ...logEntry("card", `card-${row}`, "read"), context });
      }
    }
  });
}

/** The pages of a log, followed to their end. */
async function pagesOf(tenantId: TenantId, size: number) {
  const keys = await ledger.keyring.of(tenantId);
  const pages: { readonly id: Uuid; readonly trace: Uuid | null }[][] = [];
  let start: string | undefined;
  do {
    const read = prepareLogPage(keys, { start, page: 1, size, wholeCalls: true }, new Date(ledger.clock.time));
    const { rows, next } = await ledger.database.of(tenantId).bulk((tx) => read((listing) => findLogRows(tx, listing)));
    pages.push(rows.map(({ id, trace_id }) => ({ id, trace: trace_id })));
    start = next;
  } while (start !== undefined);
  return pages;
}

describe("pages of whole calls", () => {
  it("have every row once, and cut no call", async () => {
    const transactions = fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(transactions, fc.integer({ min: 1, max: 8 }), async (log, size) => {
        const tenantId = await ledger.newTenant();
        for (const sizes of log) await write(tenantId, sizes);
        const pages = await pagesOf(tenantId, size);
        const stored = await ledger.rows<{ id: Uuid }>(tenantId, "select id from audit_logs");
        expect(
          pages
            .flat()
            .map(({ id }) => id)
            .toSorted(),
        ).toEqual(stored.map(({ id }) => id).toSorted());
        const traces = pages.map((rows) => new Set(rows.flatMap(({ trace }) => trace ?? [])));
        const all = traces.flatMap((ofPage) => [...ofPage]);
        expect(all).toHaveLength(new Set(all).size);
      }),
      { numRuns: 25 },
    );
  });

  it("end a page within a call of more rows than a page may add", async () => {
    const tenantId = await ledger.newTenant();
    await write(tenantId, [700]);
    const sizes = (await pagesOf(tenantId, 50)).map(({ length }) => length);
    expect(sizes.slice(0, 2)).toEqual([250, 250]);
  });

  it("are followed by cursors alone", async () => {
    const keys = await ledger.keyring.of(await ledger.newTenant());
    const now = new Date(ledger.clock.time);
    expect(() => prepareLogPage(keys, { page: 2, size: 5, wholeCalls: true }, now)).toThrow(
      expect.objectContaining({ code: "validation_failed", fields: { page: [expect.any(String)] } }),
    );
  });
});
