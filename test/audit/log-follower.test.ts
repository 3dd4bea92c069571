import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LogFollower } from "../../src/audit/follow/log-follower.js";
import { newUuid, type TenantId } from "../../src/base/ids.js";
import { defineStatement } from "../../src/store/statements/statement.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

const START = new Date(Date.UTC(2026, 0, 5));
const FILTER = { entityTypes: undefined, entityId: "wanted" };

let ledger: Ledger;
let tenantId: TenantId;
beforeAll(async () => {
  ledger = await openLedger();
  tenantId = await ledger.newTenant();
  await ledger.tamper(
    tenantId,
    `update tenants set audit_closed_until = '${new Date(START.getTime() + 60 * MINUTE).toISOString()}'`,
  );
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

interface Written {
  /** Milliseconds after the start. */
  readonly at: number;
  readonly isWanted: boolean;
}

async function write(rows: readonly Written[]): Promise<void> {
  const values = rows.map(({ at, isWanted }) => {
    const time = new Date(START.getTime() + at).toISOString();
    return `('${tenantId}', '${time}', '${newUuid()}', 'token', '${isWanted ? "wanted" : "other"}', 'read', '', 'allowed')`;
  });
  await ledger.tamper(tenantId, `delete from audit_logs where created_at < now() - interval '1 day'`);
  if (values.length === 0) return;
  await ledger.tamper(
    tenantId,
    `insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
     values ${values.join(", ")}`,
  );
}

/** The rows of the log that this connection has read, and not reported yet. */
const rowsRead = defineStatement<"so far", number, { n: number }>({
  table: "audit_logs",
  kind: "read",
  queries: (sql) => [
    sql`select sum(idx_tup_fetch)::int as n from pg_stat_xact_user_tables where relname like 'audit\\_logs%'`,
  ],
  outputs: ([rows = []], inputs) => inputs.map(() => rows[0]?.n ?? Number.NaN),
});

describe("a follower that was away for long", () => {
  it("compares rows with its filter up to a bound in each poll, and goes on from there", async () => {
    const count = 2_000;
    await write(Array.from({ length: count }, (_, n) => ({ at: n * 1_000, isWanted: n === count - 1 })));
    const bounds = { rows: 100, ranges: 3 };
    const follower = new LogFollower(FILTER, START, { bounds });
    const found: string[] = [];
    let polls = 0;
    for (let isAll = false; !isAll; polls += 1) {
      const before = follower.position.createdAt.getTime();
      const { polled, read } = await ledger.database.of(tenantId).bulk(async (tx) => {
        const readBefore = await tx.query(rowsRead, "so far");
        const polled = await follower.poll(tx);
        return { polled, read: (await tx.query(rowsRead, "so far")) - readBefore };
      });
      follower.accept(polled);
      found.push(...polled.rows.map((row) => row.entity_id));
      isAll = polled.isAll;
      // The rows of three ranges, most of them twice: to find where a range ends, and to compare them.
      expect(read).toBeLessThan(3 * 100 * 2.5);
      expect(follower.position.createdAt.getTime()).toBeGreaterThan(before);
    }
    expect(found).toEqual(["wanted"]);
    expect(polls).toBeGreaterThan(count / 300);
  });

  it("finds each row once, whatever the bounds are and wherever it begins again", async () => {
    const row = fc.record({ at: fc.nat(30), isWanted: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 40 }),
        fc.record({ rows: fc.integer({ min: 1, max: 6 }), ranges: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ batch: fc.integer({ min: 1, max: 4 }), reconnects: fc.infiniteStream(fc.boolean()) }),
        async (rows, bounds, { batch, reconnects }) => {
          await write(rows);
          let follower = new LogFollower(FILTER, START, { batch, bounds });
          const found: string[] = [];
          for (let isAll = false; !isAll; ) {
            const polled = await ledger.database.of(tenantId).bulk((tx) => follower.poll(tx));
            follower.accept(polled);
            found.push(...polled.rows.map(({ id }) => id));
            isAll = polled.isAll;
            if (reconnects.next().value) follower = new LogFollower(FILTER, follower.position, { batch, bounds });
          }
          const expected = await ledger.rows<{ id: string }>(
            tenantId,
            `select id from audit_logs where entity_id = 'wanted' order by created_at, id`,
          );
          expect(found).toEqual(expected.map(({ id }) => id));
        },
      ),
      { numRuns: 60 },
    );
  });
});
