import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findLogRows } from "../../src/audit/follow/find-log-rows.js";
import { logEntry } from "../../src/audit/log-entry.js";
import type { TenantId } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import type { LogFilter, LogPosition } from "../../src/store/audit/log-listing.js";
import type { Statement } from "../../src/store/statements/statement.js";
import { type Ledger, openLedger } from "./support/ledger.js";

let ledger: Ledger;
let tenantId: TenantId;

/** 60 rows over 20 moments: every third is a failed deletion of a card. */
beforeAll(async () => {
  ledger = await openLedger();
  tenantId = await ledger.newTenant();
  for (let moment = 0; moment < 20; moment += 1) {
    ledger.clock.time += 1_000;
    await ledger.database.of(tenantId).shared(async (tx) => {
      writeLog(tx, logEntry("card", `card-${moment}`, "delete", { outcome: "failed", code: "internal" }));
      writeLog(tx, logEntry("card", "one", "read", { transform: "mask" }));
      writeLog(tx, logEntry("token", "one", "read", { transform: "reveal" }));
    });
  }
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const bounds = { rows: 7, ranges: 2 };

/** Follows the pages to their end, as a client does by its cursors. */
async function follow(filter: LogFilter, limit: number) {
  const [ids, sizes]: [string[], number[]] = [[], []];
  let after: LogPosition | undefined;
  for (;;) {
    const listing = { ...filter, after, offset: 0, limit };
    const { rows, endedAt } = await ledger.database.of(tenantId).bulk((tx) => findLogRows(tx, listing, bounds));
    ids.push(...rows.map(({ id }) => id));
    sizes.push(rows.length);
    const last = rows.at(-1);
    after = endedAt ?? (rows.length === limit && last ? { createdAt: last.created_at, id: last.id } : undefined);
    if (!after) return { ids, sizes };
  }
}

const from = new Date(0);

describe("a search of the log with a bound", () => {
  it.each<[string, LogFilter, string]>([
    ["an operation", { operation: "delete", from }, "operation = 'delete'"],
    ["a transform", { transform: "reveal", from }, "transform = 'reveal'"],
    ["an outcome", { outcome: "failed" }, "outcome = 'failed'"],
    ["an outcome that no row has", { outcome: "denied" }, "outcome = 'denied'"],
    ["an entity and a transform", { entityId: "one", transform: "mask" }, "entity_id = 'one' and transform = 'mask'"],
    [
      "a type and an operation",
      { entityTypes: ["card"], operation: "read", from },
      "entity_type = 'card' and operation = 'read'",
    ],
    [
      "types and an operation",
      { entityTypes: ["card", "token"], operation: "read", from },
      "entity_type in ('card', 'token') and operation = 'read'",
    ],
    ["an entity of a type", { entityId: "one", entityTypes: ["token"] }, "entity_id = 'one' and entity_type = 'token'"],
    [
      "a range of time",
      { operation: "read", from: new Date(0), until: new Date(4_102_444_800_000) },
      "operation = 'read'",
    ],
  ])("finds each row for %s once, in order", async (_, filter, condition) => {
    const expected = await ledger.rows<{ id: string }>(
      tenantId,
      `select id from audit_logs where ${condition} order by created_at desc, id desc`,
    );
    for (const limit of [1, 4, 100]) {
      expect((await follow(filter, limit)).ids).toEqual(expected.map(({ id }) => id));
    }
  });

  it("skips the rows before a page of a number without reading them", async () => {
    const filter = { operation: "read", from };
    const everything = { rows: 7, ranges: 1_000 };
    const all = await ledger.rows<{ id: string }>(
      tenantId,
      "select id from audit_logs where operation = 'read' order by created_at desc, id desc",
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(50), fc.integer({ min: 1, max: 20 }), async (offset, limit) => {
        let read = 0;
        const found = await ledger.database.of(tenantId).bulk((tx) => {
          const counting = {
            async query<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output> {
              const output = await tx.query(statement, input);
              if (Array.isArray(output)) read += output.length;
              return output;
            },
          };
          read = 0;
          return findLogRows(counting, { ...filter, after: undefined, offset, limit }, everything);
        });
        expect(found.rows.map(({ id }) => id)).toEqual(all.slice(offset, offset + limit).map(({ id }) => id));
        expect(read).toBe(found.rows.length);
      }),
      { numRuns: 40 },
    );
  });

  it("ends at the bound, and continues from there", async () => {
    const { sizes } = await follow({ operation: "none", from }, 10);
    // 62 or more rows, 14 at a time, and with each the others of its time.
    expect(sizes.length).toBeGreaterThanOrEqual(4);
    expect(new Set(sizes)).toEqual(new Set([0]));
  });
});
