// Computes: 25 s
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { ChainHistory } from "../../src/audit/chain/chain-history.js";
import { oldestMonth } from "../../src/audit/chain/log-months.js";
import { setBackLog } from "../../src/audit/chain/set-back-log.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { newUuid, type TenantId, type Uuid } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { listLogPartitions } from "../../src/store/audit/log-partitions.js";
import { connect } from "../../src/store/postgres/connect.js";
import { type Ledger, MINUTE } from "./support/ledger.js";
import { DAY, DAYS, HOUR, WrongClocks } from "./support/wrong-clocks.js";

let clocks: WrongClocks;
let ledger: Ledger;
beforeAll(async () => {
  clocks = await WrongClocks.open();
  ledger = clocks.ledger;
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const wait = (milliseconds: number) => clocks.wait(milliseconds);
const both = (milliseconds: number) => clocks.both(milliseconds);
const rowsOf = (tenantId: TenantId) =>
  ledger.rows<{ id: string; at: Date }>(tenantId, "select id::text, created_at as at from audit_logs");

/** Everything that changes what the log has, in any order. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("write" as const), rows: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("wait" as const), days: fc.integer({ min: 0, max: 25 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("jump" as const),
      servers: fc.constantFrom(-HOUR, 0, HOUR, 400 * DAY),
      database: fc.constantFrom(0, 400 * DAY),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("both" as const), hours: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "set right",
        "seal",
        "seal beside a deletion",
        "months",
        "forget months",
        "reader",
        "no reader",
      ),
    }),
  },
);

it("every row is verified or past its retention, and no reader stops a writer, whatever clocks, months and keys do", async () => {
  const servers = [ledger.another(), ledger.another()];
  let removed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 20 }), async (steps) => {
      await both(0);
      const tenants = [await ledger.newTenant(), await ledger.newTenant()];
      const written = new Map<string, Date>();
      const reader = connect(ledger.stored.address, { connections: 1, statementTimeout: 0 });
      let isReading = false;
      const note = async () => {
        for (const tenantId of tenants) for (const { id, at } of await rowsOf(tenantId)) written.set(id, at);
      };
      const write = async (rows: number) => {
        // After a set-back of the clocks the log refuses rows until it is set back.
        for (const tenantId of tenants) await logUse(tenantId, rows).catch(() => setBackLog(ledger, tenantId));
        await note();
      };
      const months = () => ledger.turnMonths({ retentionDays: DAYS });
      await note();
      for (const [index, next] of steps.entries()) {
        const server = servers[index % 2] ?? ledger;
        const seal = () => ledger.runJob({ retentionDays: DAYS, server: { ...server, history: new ChainHistory() } });
        if (next.kind === "write") await write(next.rows);
        else if (next.kind === "wait") await wait(next.days * DAY + 3 * MINUTE);
        // One of the clocks is right, or both are wrong by hours.
        else if (next.kind === "jump")
          await clocks.set(next.servers > 0 ? { servers: next.servers, database: 0 } : next);
        else if (next.kind === "both") await both(next.hours * HOUR);
        else if (next.kind === "set right") await both(0);
        else if (next.kind === "seal") await seal();
        else if (next.kind === "months") await Promise.all([months(), write(1)]);
        else if (next.kind === "reader" && !isReading) {
          await reader.unsafe("begin; lock table audit_logs in access share mode");
          isReading = true;
        } else if (next.kind === "no reader" && isReading) {
          await reader.unsafe("rollback");
          isReading = false;
        } else if (next.kind === "forget months" && !isReading) await forgetEmptyMonths();
        else if (next.kind === "seal beside a deletion") await Promise.all([seal(), deleteKeys(tenants)]);
      }
      await reader.unsafe("rollback");
      await reader.end();
      await both(0);
      for (const tenantId of tenants) await setBackLog(ledger, tenantId);
      await wait(6 * HOUR);
      for (let look = 0; look < 3; look += 1) {
        expect(await ledger.runJob({ retentionDays: DAYS })).toEqual({ failed: [], broken: [] });
        await months();
        await wait(35 * DAY);
      }
      await ledger.runJob({ retentionDays: DAYS });
      await months();
      const left = new Set<string>();
      for (const tenantId of tenants) {
        for (const { id } of await rowsOf(tenantId)) left.add(id);
        expect((await ledger.verifyAttested(tenantId)).findings).toEqual([]);
      }
      const oldest = oldestMonth(new Date(clocks.truth), DAYS);
      for (const [id, at] of written) {
        if (left.has(id)) continue;
        removed += 1;
        expect(at.getTime()).toBeLessThan(oldest.getTime());
      }
      expect((await ledger.verifyVault()).findings).toEqual([]);
    }),
    { numRuns: 8 },
  );
  expect(removed).toBeGreaterThan(0);
});

/** Rows that name the tenant's key, whose last use is noted when they are sealed. */
async function logUse(tenantId: TenantId, rows: number): Promise<void> {
  const [key] = await ledger.rows<{ id: Uuid }>(tenantId, "select id from application_keys");
  const actor = { id: newUuid(), type: "application" as const, keyId: key?.id, context: EMPTY_CONTEXT };
  await ledger.database.of(tenantId).shared(async (tx) => {
    for (let row = 0; row < rows; row += 1) writeLog(tx, logEntry("token", "*", "read", { actor }));
  });
}

/** Months that no server made. */
async function forgetEmptyMonths(): Promise<void> {
  const { owner } = ledger.stored;
  for (const { name } of await listLogPartitions(owner)) {
    await owner.unsafe(`alter table ${name} no force row level security`);
    const [row] = await owner.unsafe(`select 1 from ${name} limit 1`);
    await owner.unsafe(row ? `alter table ${name} force row level security` : `drop table ${name}`);
  }
}

/** As requests do: a key, then the tenant. */
async function deleteKeys(tenants: readonly TenantId[]): Promise<void> {
  for (const tenantId of tenants) {
    await ledger.tamper(
      tenantId,
      `delete from application_keys; update tenants set auth_revision = auth_revision + 1 where tenant_id = '${tenantId}'`,
    );
  }
}
