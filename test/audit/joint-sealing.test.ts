import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChainHistory } from "../../src/audit/chain/chain-history.js";
import type { SealParts } from "../../src/audit/chain/seal-log.js";
import { LOGS_AT_ONCE, sealLogs } from "../../src/audit/chain/seal-logs.js";
import type { TenantId } from "../../src/base/ids.js";
import { SEALED_AFTER_MS } from "../../src/store/audit/audit-logs.js";
import type { Database, TenantTransactions } from "../../src/store/database.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

/** Each minute that has rows, with their number. */
const minutesOf = (tenantId: TenantId) =>
  ledger.rows<{ minute: Date; rows: number }>(
    tenantId,
    "select date_trunc('minute', created_at) as minute, count(*) as rows from audit_logs group by 1 order by 1",
  );
const sealedMinutesOf = (tenantId: TenantId) =>
  ledger.rows<{ minute: Date; rows: number }>(
    tenantId,
    "select window_start as minute, row_count as rows from audit_seals where kind = 'minute' order by number",
  );
const logsOf = (tenants: readonly TenantId[]) =>
  tenants.map((tenantId) => {
    const dueAt = new Date(Math.floor(ledger.clock.time / MINUTE) * MINUTE);
    return { tenantId, minute: new Date(dueAt.getTime() - SEALED_AFTER_MS), dueAt };
  });

async function newTenants(count: number): Promise<TenantId[]> {
  return Promise.all(Array.from({ length: count }, () => ledger.newTenant()));
}

async function expectSealedOnce(tenants: readonly TenantId[]): Promise<void> {
  for (const tenantId of tenants) {
    expect(await sealedMinutesOf(tenantId)).toEqual(await minutesOf(tenantId));
    expect(await ledger.verify(tenantId)).toMatchObject({ unsealedRows: 0, findings: [] });
  }
  const { findings, attested } = await ledger.verifyVault();
  expect(findings).toEqual([]);
  expect([...attested.keys()]).toEqual(expect.arrayContaining([...tenants]));
}

/**
 * A server that is killed at one of its transactions: from then on nothing that it does reaches the database.
 * @param after whether that transaction is still stored.
 */
function killedAt(server: SealParts, transaction: number, after: boolean): SealParts {
  let left = transaction;
  const counted = async <T>(run: () => Promise<T>): Promise<T> => {
    left -= 1;
    if (left < 0 || (left === 0 && !after)) throw new Error("the server was killed");
    const value = await run();
    if (left === 0) throw new Error("the server was killed");
    return value;
  };
  const { database } = server;
  const of = (tenantId: TenantId): TenantTransactions => ({
    shared: (work) => counted(() => database.of(tenantId).shared(work)),
    ordinary: (work) => counted(() => database.of(tenantId).ordinary(work)),
    bulk: (work) => counted(() => database.of(tenantId).bulk(work)),
  });
  const dying: Database = { ...database, of, jointly: (works) => counted(() => database.jointly(works)) };
  return { ...server, database: dying };
}

describe("logs that are sealed together", () => {
  it("have one seal for each minute with rows, and are attested", async () => {
    const tenants = await newTenants(LOGS_AT_ONCE + 7);
    ledger.clock.time += 3 * MINUTE;
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    await expectSealedOnce(tenants);
  });

  it("do not wait for one with a transaction in flight, which stays open", async () => {
    const [busy, ...others] = await newTenants(3);
    if (!busy) throw new Error("no tenants");
    ledger.clock.time += 3 * MINUTE;
    await ledger.stored.owner.begin(async (tx) => {
      await tx.unsafe(`set local role cloakroom_app; set local app.tenant_id = '${busy}'`);
      await tx`select 1 from tenants where tenant_id = ${busy} for key share`;
      expect(await sealLogs(ledger, logsOf([busy, ...others]))).toEqual(new Set(others));
      const [row] = await tx<{ until: Date | null }[]>`
        select audit_closed_until as until from tenants where tenant_id = ${busy}`;
      expect(row?.until).toBeNull();
    });
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    await expectSealedOnce([busy, ...others]);
  });

  it("are closed by a commit that waits for no disk, and sealed by one that does", async () => {
    const tenants = await newTenants(2);
    ledger.clock.time += 3 * MINUTE;
    const lost: boolean[] = [];
    const { database } = ledger;
    const noting: Database = {
      ...database,
      jointly(works, options) {
        lost.push(options?.mayBeLost ?? false);
        return database.jointly(works, options);
      },
    };
    expect(await sealLogs({ ...ledger, database: noting }, logsOf(tenants))).toEqual(new Set(tenants));
    expect(lost.slice(0, 3)).toEqual([true, false, false]);
    expect(lost.slice(3)).not.toContain(true);
  });

  it("do not wait for one with many rows, and one that was tampered with does not stop the others", async () => {
    const [large, broken, headless, ...others] = await newTenants(5);
    if (!large || !broken || !headless) throw new Error("no tenants");
    await ledger.log(large, 600);
    ledger.clock.time += 3 * MINUTE;
    await ledger.runJob();
    for (const tenantId of [broken, headless, ...others]) await ledger.log(tenantId, 1);
    await ledger.log(large, 600);
    await ledger.tamper(broken, "update audit_heads set number = number + 1");
    await ledger.tamper(headless, "delete from audit_heads");
    ledger.clock.time += 3 * MINUTE;
    expect(await sealLogs(ledger, logsOf([large, broken, headless, ...others]))).toEqual(new Set(others));
    const { failed, broken: told } = await ledger.runJob();
    expect({ failed, told: told.sort() }).toEqual({ failed: [], told: [broken, `refused ${headless}`].sort() });
    await expectSealedOnce([large, ...others]);
    // Not so for the other tests of the vault's own chain.
    for (const tenantId of [broken, headless]) await ledger.tamper(tenantId, "delete from due where kind = 'log_seal'");
  });

  it("have each minute sealed once, wherever servers are killed and others take over", async () => {
    const step = fc.record({
      rows: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 4, maxLength: 4 }),
      minutes: fc.integer({ min: 0, max: 3 }),
      servers: fc.array(
        fc.record({ isNew: fc.boolean(), killedAt: fc.option(fc.integer({ min: 1, max: 14 })), after: fc.boolean() }),
        { minLength: 1, maxLength: 3 },
      ),
    });
    const replicas = [ledger.another(), ledger.another()];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), async (steps) => {
        const tenants = await newTenants(4);
        for (const { rows, minutes, servers } of steps) {
          for (const [index, tenantId] of tenants.entries()) {
            const count = rows[index] ?? 0;
            if (count > 0) await ledger.log(tenantId, count);
          }
          ledger.clock.time += minutes * MINUTE;
          const running = servers.map(({ isNew, killedAt: at, after }, index) => {
            const replica = replicas[index % 2] ?? ledger;
            const server = isNew ? { ...replica, history: new ChainHistory() } : replica;
            return ledger.runJob({ server: at === null ? server : killedAt(server, at, after) });
          });
          await Promise.allSettled(running);
        }
        ledger.clock.time += 3 * MINUTE;
        expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
        await expectSealedOnce(tenants);
      }),
      { numRuns: 12 },
    );
  });
});
