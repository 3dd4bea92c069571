import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { logMonthWarnings, makeLogMonths, oldestMonth, removeOldMonths } from "../../src/audit/chain/log-months.js";
import type { TenantId } from "../../src/base/ids.js";
import { listLogPartitions, monthStart } from "../../src/store/audit/log-partitions.js";
import { ensureLogPartitions, strayMonths } from "../../src/store/audit/stray-log-rows.js";
import { migrate } from "../../src/store/migrate.js";
import { connect, type DatabaseAddress, soleConnection } from "../../src/store/postgres/connect.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

const DAY = 24 * 60 * MINUTE;

let ledger: Ledger;
let now: Date;
beforeEach(async () => {
  ledger = await openLedger();
  now = new Date(ledger.clock.time);
});
afterEach(() => ledger?.[Symbol.asyncDispose]());

const nameOf = (month: Date) => `audit_logs_${month.toISOString().slice(0, 7).replace("-", "_")}`;
const owner = () => ledger.stored.owner;
const months = async () => (await listLogPartitions(owner())).map(({ from }) => from);
const ahead = () => [0, 1, 2, 3].map((count) => monthStart(now, count));
const forget = async (count: number) => {
  await owner().unsafe(`drop table ${nameOf(monthStart(now, count))}`);
};
const tablesOf = (tenantId: TenantId) =>
  ledger
    .rows<{ table: string }>(tenantId, "select distinct tableoid::regclass::text as table from audit_logs order by 1")
    .then((rows) => rows.map(({ table }) => table));

/** Rows of a tenant's log at a time, written many at once. */
async function fill(tenantId: TenantId, rows: number, time: Date): Promise<void> {
  await ledger.tamper(
    tenantId,
    `insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
     select '${tenantId}', '${time.toISOString()}'::timestamptz + n * interval '1.000001 seconds', gen_random_uuid(),
       'token', '*', 'read', 'Token retrieved', 'allowed' from generate_series(1, ${rows}) n`,
  );
}

describe("a server whose login does not own the tables", () => {
  let address: DatabaseAddress;
  beforeEach(async () => {
    await owner().unsafe("create role servers login password 'test'; grant cloakroom_app, cloakroom_jobs to servers");
    address = { ...ledger.stored.address, username: "servers", password: "test" };
  });

  it("makes the months ahead, and no other table", async () => {
    for (const count of [0, 2, 3]) await forget(count);
    expect(await makeLogMonths({ address, ownerAddress: address }, now)).toEqual([]);
    expect(await months()).toEqual(ahead());
    const open = await owner()`
      select relname from pg_class where relname like 'audit_logs%' and relkind in ('r', 'p')
        and not (relrowsecurity and relforcerowsecurity)`;
    expect(open).toEqual([]);
    await using sql = soleConnection(address, { role: "cloakroom_app" });
    const make = (month: string | null) => sql`select make_log_month(${month}::text::timestamptz)`;
    const tables = () =>
      owner()`select relname, relowner::regrole::text as owner from pg_class where relkind = 'r' order by 1`;
    const before = await tables();
    const midMonth = monthStart(now, 5).toISOString().replace("-01T", "-02T");
    for (const month of [null, "infinity", "2099-01-01T00:00Z", "2001-01-01T00:00Z", midMonth]) {
      await expect(make(month), `${month}`).rejects.toMatchObject({ code: "22023" });
    }
    await expect(make(monthStart(now).toISOString())).rejects.toMatchObject({ code: "42P07" });
    // Tables of the caller do not stand in for those of the log.
    await sql.unsafe("create temporary table audit_logs (created_at timestamptz) partition by range (created_at)");
    await make(monthStart(now, 5).toISOString());
    expect(await months()).toEqual([...ahead(), monthStart(now, 5)]);
    expect(await tables()).toHaveLength(before.length + 1);
    const outsider = connect(ledger.stored.address, { connections: 1, statementTimeout: 10_000 });
    await outsider.unsafe("create role another; grant another to current_user; set role another");
    await expect(outsider`select make_log_month(${monthStart(now, 6)})`).rejects.toMatchObject({ code: "42501" });
    await outsider.end();
  });

  it("says that it cannot remove old ones, and leaves rows without a month where they are", async () => {
    ledger.clock.time = monthStart(now, -3).getTime() + 10 * DAY;
    const tenantId = await ledger.newTenant();
    await makeLogMonths({ address, ownerAddress: address }, new Date(ledger.clock.time));
    const parts = { database: ledger.database, address, ownerAddress: address };
    expect(await tablesOf(tenantId)).toEqual(["audit_logs_default"]);
    // Now those in between are there, and the first is not: it has rows.
    expect(await removeOldMonths(parts, monthStart(now))).toEqual({
      blocked: [],
      stuck: [-2, -1].map((count) => ({
        month: monthStart(now, count),
        reason: expect.stringContaining("MIGRATE_DATABASE_URL"),
      })),
    });
  });
});

describe("rows of the log without a month", () => {
  it("get one if a clock was wrong or their month was not made, and lose nothing", async () => {
    await forget(0);
    const tenantId = await ledger.newTenant();
    const far = monthStart(now, 40);
    await fill(tenantId, 3, far);
    const rows = () =>
      ledger.rows(tenantId, "select to_jsonb(a)::text as row from audit_logs a order by created_at, id");
    const before = await rows();
    expect(await ensureLogPartitions(owner(), now)).toEqual([]);
    expect(await tablesOf(tenantId)).toEqual([nameOf(monthStart(now)), nameOf(far)]);
    expect(await rows()).toEqual(before);
    const micros = await ledger.rows<{ micros: number }>(
      tenantId,
      "select extract(microseconds from created_at)::int % 1000 as micros from audit_logs where created_at > now()",
    );
    expect(micros.map(({ micros }) => micros)).toEqual([1, 2, 3]);
    expect(await strayMonths(owner())).toEqual([]);
    const [size] = await owner()<{ bytes: number }[]>`select pg_relation_size('audit_logs_default') as bytes`;
    expect(size?.bytes).toBe(0);
  });

  it("are not moved if there are many: their table becomes that of their months", async () => {
    for (const count of [0, 1, 2, 3]) await forget(count);
    const tenantId = await ledger.newTenant();
    await fill(tenantId, 1_500, monthStart(now, -2));
    await fill(tenantId, 1_500, monthStart(now));
    await fill(tenantId, 2, monthStart(now, 30));
    const count = () => ledger.rows(tenantId, "select count(*) as n from audit_logs");
    const before = await count();
    const [first] = await owner()<{ id: number }[]>`select 'audit_logs_default'::regclass::oid::int as id`;
    expect(await ensureLogPartitions(owner(), now)).toEqual([]);
    const span = `${nameOf(monthStart(now, -2))}_to_${monthStart(now).toISOString().slice(0, 7).replace("-", "_")}`;
    expect(await tablesOf(tenantId)).toEqual([span, nameOf(monthStart(now, 30))]);
    expect(await months()).toEqual([-2, 1, 2, 3, 30].map((month) => monthStart(now, month)));
    expect(await count()).toEqual(before);
    const [second] = await owner()<{ id: number }[]>`select ${span}::regclass::oid::int as id`;
    expect(second).toEqual(first);
    // Each has its indexes once, as a part of those of the log.
    const indexes = await owner()<{ table: string; n: number; attached: number }[]>`
      select i.indrelid::regclass::text as table, count(*) as n, count(h.inhparent) as attached from pg_index i
      left join pg_inherits h on h.inhrelid = i.indexrelid
      where i.indrelid in (select inhrelid from pg_inherits where inhparent = 'audit_logs'::regclass) group by 1`;
    for (const { n, attached } of indexes) expect([n, attached]).toEqual([8, 8]);
    // The new default partition takes rows, is guarded as the old one was, and its rows are found.
    await fill(tenantId, 1, monthStart(now, 31));
    expect(await strayMonths(owner())).toEqual([{ month: monthStart(now, 31), rows: 1 }]);
    expect(await ensureLogPartitions(owner(), now)).toEqual([]);
    const open = await owner()`
      select relname from pg_class where relname like 'audit_logs%' and relkind in ('r', 'p')
        and not (relrowsecurity and relforcerowsecurity)`;
    expect(open).toEqual([]);
    expect(await owner().unsafe(`select 1 from ${span}`)).toEqual([]);
    expect(
      await owner()`select conname from pg_constraint where contype = 'c' and conrelid::regclass::text like 'audit_logs%'`,
    ).toEqual([]);
  });

  it("stay where they are if another month lies between, and a check that a killed process left is removed", async () => {
    const tenantId = await ledger.newTenant();
    await ensureLogPartitions(owner(), monthStart(now, -6));
    await fill(tenantId, 1_001, monthStart(now, -8));
    await fill(tenantId, 1_001, monthStart(now, -1));
    await owner().unsafe(
      "alter table audit_logs_default add constraint audit_logs_default_span check (created_at < '2001-01-01') not valid",
    );
    expect(await ensureLogPartitions(owner(), now)).toEqual([
      { month: monthStart(now, -8), reason: expect.stringContaining("between") },
    ]);
    await fill(tenantId, 1, monthStart(now, -9));
    expect((await strayMonths(owner())).map(({ rows }) => rows)).toEqual([1, 1_001, 1_001]);
  });

  it("stop no other month, and no migration, if theirs cannot be made", async () => {
    const taken = nameOf(monthStart(now, 1));
    for (const count of [1, 2]) await forget(count);
    await owner().unsafe(`create table ${taken} (tenant_id int)`);
    const stuck = { month: monthStart(now, 1), reason: expect.stringContaining("no part of the log") };
    expect(await ensureLogPartitions(owner(), now)).toEqual([stuck]);
    expect(await months()).toEqual([0, 2, 3].map((count) => monthStart(now, count)));
    const said: string[] = [];
    await owner()
      .unsafe("grant cloakroom_app, cloakroom_jobs to current_user")
      .catch(() => {});
    await migrate(ledger.stored.address, { announce: (line) => said.push(line) });
    expect(said).toEqual([expect.stringContaining(`no table for ${monthStart(now, 1).toISOString().slice(0, 7)} yet`)]);
    await owner().unsafe(`drop table ${taken}`);
    expect(await ensureLogPartitions(owner(), now)).toEqual([]);
    expect(await months()).toEqual(ahead());
  });
});

describe("beside a reader of hours, such as a backup,", () => {
  it("months wait for the next run, and writers and readers go on", async () => {
    const tenantId = await ledger.newTenant();
    ledger.clock.time += 3 * MINUTE;
    await ledger.runJob();
    for (const count of [2, 3]) await forget(count);
    await ensureLogPartitions(owner(), monthStart(now, -5));
    await fill(tenantId, 5, monthStart(now, -12));
    const reader = connect(ledger.stored.address, { connections: 1, statementTimeout: 0 });
    await reader.unsafe("begin; lock table audit_logs in access share mode");
    let isRunning = true;
    const job = ledger.turnMonths({ retentionDays: 40 }).finally(() => {
      isRunning = false;
    });
    let written = 0;
    while (isRunning) {
      await ledger.log(tenantId, 1);
      await ledger.rows(tenantId, "select count(*) from audit_logs");
      written += 1;
    }
    expect(await job).toEqual([]);
    expect(written).toBeGreaterThan(0);
    expect(ledger.stuck.map(({ step }) => step)).toEqual(expect.arrayContaining(["made", "removed"]));
    for (const { reason } of ledger.stuck) expect(reason).toContain("another transaction uses the log");
    await reader.unsafe("rollback");
    await reader.end();
    await ledger.turnMonths({ retentionDays: 40 });
    expect(ledger.stuck).toEqual([]);
    expect(await months()).toEqual(expect.arrayContaining(ahead()));
  });
});

it("no month is removed by a login that sees no tenants", async () => {
  await ledger.newTenant();
  ledger.clock.time += 3 * MINUTE;
  await ledger.runJob();
  await ensureLogPartitions(owner(), monthStart(now, -9));
  const { address } = ledger.stored;
  const parts = { database: ledger.database, address, ownerAddress: address };
  await owner().unsafe("create role another");
  for (const table of ["tenants", "audit_heads"])
    await owner().unsafe(`alter policy of_operator on ${table} to another`);
  const removing = removeOldMonths(parts, oldestMonth(now, 40));
  await expect(removing).rejects.toThrow("alter policy of_operator on audit_heads to");
  const statements = expect.stringContaining("alter policy of_operator on tenants to");
  expect(await logMonthWarnings(address, now, 0)).toEqual([statements]);
  expect((await months())[0]).toEqual(monthStart(now, -9));
  for (const table of ["tenants", "audit_heads"])
    await owner().unsafe(`alter policy of_operator on ${table} to current_user`);
  expect(await removeOldMonths(parts, oldestMonth(now, 40))).toEqual({ blocked: [], stuck: [] });
  expect((await months())[0]?.getTime()).toBeGreaterThanOrEqual(monthStart(now, -2).getTime());
});
