import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { oldestMonth } from "../../src/audit/chain/log-months.js";
import { MONTHS_AT_ONCE } from "../../src/audit/chain/retain-log.js";
import { setBackLog } from "../../src/audit/chain/set-back-log.js";
import { recordVaultEvent } from "../../src/audit/chain/vault-log.js";
import { type TenantId, VAULT_TENANT_ID } from "../../src/base/ids.js";
import { monthStart } from "../../src/store/audit/log-partitions.js";
import { type Ledger, MINUTE } from "./support/ledger.js";
import { DAY, DAYS, WrongClocks } from "./support/wrong-clocks.js";

let clocks: WrongClocks;
let ledger: Ledger;
beforeAll(async () => {
  clocks = await WrongClocks.open();
  ledger = clocks.ledger;
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const wait = (milliseconds: number) => clocks.wait(milliseconds);
const both = (milliseconds: number) => clocks.both(milliseconds);
beforeEach(async () => {
  ledger.clock.now = () => ledger.clock.time;
  await both(0);
  await wait(DAY);
});

const headOf = async (tenantId: TenantId) => {
  const [head] = await ledger.rows<{ keptFrom: Date | null }>(
    tenantId,
    'select kept_from as "keptFrom" from audit_heads',
  );
  return head?.keptFrom ?? undefined;
};
const rowsOf = (tenantId: TenantId) =>
  ledger.rows<{ id: string; at: Date }>(tenantId, "select id::text, created_at as at from audit_logs");
const run = (retentionDays = DAYS) => ledger.runJob({ retentionDays });
const sealed = async () => {
  await wait(3 * MINUTE);
  expect(await run()).toEqual({ failed: [], broken: [] });
};

/** A tenant with a sealed row in each of some months up to now. */
async function tenantOf(months: number): Promise<TenantId> {
  const tenantId = await ledger.newTenant();
  for (let month = 0; month < months; month += 1) {
    await wait(31 * DAY);
    await ledger.log(tenantId, 1);
    // Not a run, which would free rows.
    await wait(3 * MINUTE);
    expect(await run(0)).toEqual({ failed: [], broken: [] });
  }
  return tenantId;
}

describe("retention", () => {
  it("frees two months at a look if all clocks jump ahead, and goes on from the present once they are right", async () => {
    const tenantId = await tenantOf(3);
    const before = await rowsOf(tenantId);
    const [first] = before.map(({ at }) => at).sort((one, other) => one.getTime() - other.getTime());
    await both(900 * DAY);
    await ledger.log(tenantId, 1);
    await sealed();
    await ledger.turnMonths({ retentionDays: DAYS });
    expect(await headOf(tenantId)).toEqual(monthStart(first ?? new Date(0), MONTHS_AT_ONCE));
    expect((await rowsOf(tenantId)).length).toBeGreaterThan(1);
    // If that is not seen for days, rows to come are freed in the end.
    for (let look = 0; look < 3; look += 1) {
      await wait(DAY);
      await ledger.log(tenantId, 1);
      await sealed();
    }
    await ledger.tamper(tenantId, "delete from due where kind = 'log_retention'");
    await both(0);
    const outcome = await setBackLog(ledger, tenantId);
    if (outcome.kind !== "set back") throw new Error(`the log was ${outcome.kind}`);
    const keptFrom = await headOf(tenantId);
    expect(keptFrom?.getTime()).toBeLessThanOrEqual(outcome.to.getTime());
    await ledger.log(tenantId, 4);
    await sealed();
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], keptFrom });
    await ledger.tamper(tenantId, "delete from audit_logs where entity_id = 'token-3'");
    expect((await ledger.verify(tenantId)).findings).toMatchObject([{ kind: "rows_missing" }]);
  });

  it("never frees a time to come that a set-back leads to, however far ahead the head is", async () => {
    const tenantId = await tenantOf(1);
    for (let look = 0; look < 8; look += 1) {
      await both(1_500 * DAY + look * DAY);
      await ledger.log(tenantId, 1);
      await sealed();
    }
    expect((await headOf(tenantId))?.getTime()).toBeGreaterThan(clocks.truth);
    await both(0);
    const outcome = await setBackLog(ledger, tenantId);
    if (outcome.kind !== "set back") throw new Error(`the log was ${outcome.kind}`);
    expect(await headOf(tenantId)).toEqual(outcome.to);
  });

  it("has caught up within a week if a vault was off for a year", async () => {
    const tenantId = await tenantOf(2);
    await wait(365 * DAY);
    await ledger.log(tenantId, 1);
    for (let day = 0; day < 7; day += 1) {
      await sealed();
      await ledger.log(tenantId, 1);
      await wait(DAY);
    }
    await sealed();
    expect(await headOf(tenantId)).toEqual(oldestMonth(new Date(clocks.truth), DAYS));
    await ledger.turnMonths({ retentionDays: DAYS });
    for (const { at } of await rowsOf(tenantId)) {
      expect(at.getTime()).toBeGreaterThanOrEqual(oldestMonth(new Date(clocks.truth), DAYS).getTime());
    }
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [] });
  });

  it("takes the earlier of two clocks, also for the vault's own chain and for counts", async () => {
    const tenantId = await ledger.newTenant();
    await recordVaultEvent(ledger, { entityType: "server", entityId: "s", operation: "start", remark: "a test" });
    await sealed();
    const facts = async () => [
      await ledger.copy(VAULT_TENANT_ID, "audit_logs"),
      await ledger.rows(VAULT_TENANT_ID, "select number from audit_seals order by number"),
      await ledger.copy(tenantId, "log_counts"),
      await ledger.copy(tenantId, "log_actor_counts"),
    ];
    const before = await facts();
    await ledger.tamper(tenantId, "update due set due_at = now() where kind = 'log_retention'");
    await clocks.set({ servers: 1_500 * DAY });
    await run(DAYS);
    await ledger.turnMonths({ retentionDays: DAYS });
    const after = await facts();
    // The chain has new attestations, and lost no entry.
    expect(after[1]).toEqual(expect.arrayContaining([...(before[1] ?? [])]));
    expect([after[0], ...after.slice(2)]).toEqual([before[0], ...before.slice(2)]);
    expect(await headOf(tenantId)).toEqual(oldestMonth(new Date(clocks.truth), DAYS));
    // By its right clock the look comes again.
    await clocks.set({ servers: 0 });
    const dues = await ledger.rows<{ at: Date }>(tenantId, "select due_at as at from due where kind = 'log_retention'");
    expect(Math.min(...dues.map(({ at }) => at.getTime()))).toBeLessThanOrEqual(clocks.truth + DAY);
  });

  it("forgets the counts of a tenant without rows, and ends then", async () => {
    const tenantId = await tenantOf(1);
    const dues = () => ledger.rows(tenantId, "select 1 from due where kind = 'log_retention'");
    const counts = () => ledger.rows(tenantId, "select 1 from log_counts union all select 1 from log_actor_counts");
    await ledger.tamper(tenantId, "delete from audit_logs");
    for (const days of [2, 300]) {
      await wait(days * DAY);
      await run();
      expect([(await dues()).length, (await counts()).length > 0], `after ${days} days`).toEqual([1, true]);
    }
    await wait(200 * DAY);
    await run();
    expect([await dues(), await counts()]).toEqual([[], []]);
  });
});

describe("sealing", () => {
  it("waits for no request that deletes a key, which waits for it", async () => {
    const tenantId = await ledger.newTenant();
    const [key] = await ledger.rows<{ id: string }>(tenantId, "select id::text from application_keys");
    await ledger.tamper(tenantId, `update audit_logs set actor_type = 'application', key_id = '${key?.id}'`);
    await wait(3 * MINUTE);
    await ledger.stored.owner.begin(async (tx) => {
      await tx.unsafe(`set local role cloakroom_app; set local app.tenant_id = '${tenantId}'`);
      await tx`delete from application_keys where tenant_id = ${tenantId} and id = ${key?.id ?? ""}`;
      expect(await run()).toEqual({ failed: [], broken: [] });
      await tx`update tenants set auth_revision = auth_revision + 1 where tenant_id = ${tenantId}`;
    });
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 0 });
  });
});
