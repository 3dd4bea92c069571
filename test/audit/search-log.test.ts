import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { searchLog } from "../../src/audit/follow/search-log.js";
import type { TenantId } from "../../src/base/ids.js";
import type { Database, TenantTransactions } from "../../src/store/database.js";
import { defineStatement } from "../../src/store/statements/statement.js";
import { type Ledger, openLedger } from "./support/ledger.js";

const ROWS = 1_500;

let ledger: Ledger;
let tenantId: TenantId;
beforeAll(async () => {
  ledger = await openLedger();
  tenantId = await ledger.newTenant();
  await ledger.tamper(
    tenantId,
    `insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome, transform, actor_type)
     select '${tenantId}', to_timestamp(${ledger.clock.time / 1_000}) - n * interval '1 s', gen_random_uuid(), 'token', 'a', 'read', '',
       'allowed', 'reveal', case when n % 300 = 0 then 'user' else 'application' end
     from generate_series(1, ${ROWS}) n`,
  );
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const filter = { transform: "reveal", actorType: "user", from: new Date(0) };
const search = { filter, isWanted: () => true, remark: "values shown in the clear" };

/** The rows of the log that this connection has read, and not reported yet. */
const rowsRead = defineStatement<"so far", number, { n: number }>({
  table: "audit_logs",
  kind: "read",
  queries: (sql) => [
    sql`select sum(idx_tup_fetch)::int as n from pg_stat_xact_user_tables where relname like 'audit\\_logs%'`,
  ],
  outputs: ([rows = []], inputs) => inputs.map(() => rows[0]?.n ?? Number.NaN),
});

/** The database, with the rows that each transaction for lists has read. */
function counting(): { readonly database: Database; readonly counts: number[] } {
  const counts: number[] = [];
  const { database } = ledger;
  const of = (id: TenantId): TenantTransactions => {
    const own = database.of(id);
    return {
      shared: (work) => own.shared(work),
      ordinary: (work) => own.ordinary(work),
      bulk: (work) =>
        own.bulk(async (tx) => {
          const before = await tx.query(rowsRead, "so far");
          const result = await work(tx);
          counts.push((await tx.query(rowsRead, "so far")) - before);
          return result;
        }),
    };
  };
  return { database: { ...database, of }, counts };
}

describe("an operator's search of a log", () => {
  it("compares rows up to a bound in each transaction, and reaches the oldest", async () => {
    const { database, counts } = counting();
    const parts = { database, keyring: ledger.keyring };
    const bounds = { rows: 50, ranges: 3 };
    const { rows, hasMore } = await searchLog(parts, tenantId, { ...search, limit: 100, bounds });
    expect([rows.length, hasMore]).toEqual([ROWS / 300, false]);
    // Most rows twice: to find where a range ends, and to compare them.
    expect(Math.max(...counts)).toBeLessThan(50 * 3 * 3);
  });

  it("finds the newest rows up to its limit, and says whether there are more", async () => {
    const expected = await ledger.rows<{ id: string }>(
      tenantId,
      "select id from audit_logs where actor_type = 'user' order by created_at desc, id desc",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.record({ rows: fc.integer({ min: 20, max: 2_000 }), ranges: fc.integer({ min: 1, max: 4 }) }),
        async (limit, bounds) => {
          const { rows, hasMore } = await searchLog(ledger, tenantId, { ...search, limit, bounds });
          expect(rows.map(({ id }) => id)).toEqual(expected.slice(0, limit).map(({ id }) => id));
          expect(hasMore).toBe(expected.length > limit);
        },
      ),
      { numRuns: 10 },
    );
  });
});
