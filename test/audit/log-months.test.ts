import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { logMonthWarnings } from "../../src/audit/chain/log-months.js";
import { recordVaultEvent } from "../../src/audit/chain/vault-log.js";
import { type TenantId, VAULT_TENANT_ID } from "../../src/base/ids.js";
import { listLogPartitions, monthStart } from "../../src/store/audit/log-partitions.js";
import { ensureLogPartitions } from "../../src/store/audit/stray-log-rows.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

const DAY = 24 * 60 * MINUTE;
/** Rows of three months ago are past it, and those of the last month are not. */
const RETENTION = { retentionDays: 40 };

let ledger: Ledger;
let now: Date;
beforeEach(async () => {
  ledger = await openLedger();
  now = new Date(ledger.clock.time);
  ledger.clock.time = monthStart(now, -3).getTime() + 10 * DAY;
});
afterEach(() => ledger?.[Symbol.asyncDispose]());

const partitions = async () => (await listLogPartitions(ledger.stored.owner)).map(({ from }) => from);
const monthsWithRows = (tenantId: TenantId) =>
  ledger
    .rows<{ table: string }>(tenantId, "select distinct tableoid::regclass::text as table from audit_logs order by 1")
    .then((rows) => rows.map(({ table }) => table));
const nameOf = (month: Date) => `audit_logs_${month.toISOString().slice(0, 7).replace("-", "_")}`;

async function sealAt(time: number, retention = RETENTION): Promise<void> {
  ledger.clock.time = time;
  expect(await ledger.runJob(retention)).toEqual({ failed: [], broken: [] });
}

/** Two tenants with rows of three months ago and of the last month, all sealed. */
async function filledLog(retention = RETENTION) {
  const tenants = [await ledger.newTenant(), await ledger.newTenant()];
  await sealAt(ledger.clock.time + 3 * MINUTE, retention);
  ledger.clock.time = monthStart(now, -1).getTime() + 10 * DAY;
  for (const tenantId of tenants) await ledger.log(tenantId, 6);
  await sealAt(ledger.clock.time + 3 * MINUTE, retention);
  return { tenants, first: tenants[0] ?? VAULT_TENANT_ID, second: tenants[1] ?? VAULT_TENANT_ID };
}

describe("the months of the log", () => {
  it("are there before they begin, and a row without one is stored and gets its own", async () => {
    const ahead = [0, 1, 2, 3].map((months) => monthStart(new Date(), months));
    expect(await partitions()).toEqual(ahead);
    const tenantId = await ledger.newTenant();
    expect(await monthsWithRows(tenantId)).toEqual(["audit_logs_default"]);
    const owner = ledger.stored.address;
    expect(await logMonthWarnings(owner, new Date(), 0)).toEqual([
      expect.stringContaining(`Rows of the log from ${new Date(ledger.clock.time).toISOString().slice(0, 7)}`),
    ]);
    await ensureLogPartitions(ledger.stored.owner, new Date());
    expect(await partitions()).toEqual([monthStart(now, -3), ...ahead]);
    expect(await monthsWithRows(tenantId)).toEqual([nameOf(monthStart(now, -3))]);
    expect(await logMonthWarnings(owner, new Date(), 0)).toEqual([]);
    expect(await logMonthWarnings(owner, monthStart(now, 2), 0)).toEqual([
      expect.stringContaining(`no table for ${monthStart(now, 4).toISOString().slice(0, 7)}`),
    ]);
    expect(await logMonthWarnings(owner, new Date(), 40)).toEqual([expect.stringContaining("is past its retention")]);
    // Row-level security holds in each, also for the owner of the tables.
    const open = await ledger.stored.owner`
      select relname from pg_class where relname like 'audit_logs%' and relkind in ('r', 'p')
        and not (relrowsecurity and relforcerowsecurity)`;
    expect(open).toEqual([]);
    expect(await ledger.stored.owner.unsafe(`select 1 from ${nameOf(monthStart(now, -3))}`)).toEqual([]);
    const asTenant = ledger.stored.asTenant(tenantId, `select 1 from ${nameOf(monthStart(now, -3))}`);
    await expect(asTenant).rejects.toThrow("permission denied");
  });

  it("are removed past their retention, with all rows; seals stay, and the rest is intact", async () => {
    const { tenants, first } = await filledLog();
    await sealAt(now.getTime());
    expect(await ledger.turnMonths(RETENTION)).toEqual([]);
    expect((await partitions())[0]).toEqual(monthStart(now, -1));
    for (const tenantId of tenants) {
      expect(await monthsWithRows(tenantId)).toEqual([nameOf(monthStart(now, -1))]);
      expect(await ledger.verifyAttested(tenantId)).toMatchObject({ rows: 6, seals: 2, findings: [] });
    }
    expect((await ledger.verifyVault()).findings).toEqual([]);
    // Sealing continues, and the removal of newer rows is still detected.
    await ledger.log(first, 1);
    await sealAt(ledger.clock.time + 3 * MINUTE);
    expect(await ledger.verify(first)).toMatchObject({ rows: 7, seals: 3, findings: [] });
    await ledger.tamper(first, "delete from audit_logs where entity_id = 'token-5'");
    expect((await ledger.verify(first)).findings).toMatchObject([{ kind: "rows_missing" }]);
  });

  it("stay whole for all while one tenant's rows are evidence, or are not in a sink", async () => {
    const { first, second } = await filledLog();
    await ledger.tamper(first, "delete from audit_heads");
    await sealAt(now.getTime());
    const blocked = [{ month: monthStart(now, -3), tenants: [first] }];
    expect(await ledger.turnMonths(RETENTION)).toEqual(blocked);
    expect(await ledger.verify(second)).toMatchObject({ rows: 10, findings: [] });
    expect(await ledger.verify(first)).toMatchObject({ rows: 10, findings: [{ kind: "end_changed" }] });
  });

  it("stay if rows are kept without a limit, and if they were never freed", async () => {
    const { tenants } = await filledLog({ retentionDays: 0 });
    ledger.clock.time = now.getTime();
    expect(await ledger.turnMonths({ retentionDays: 0 })).toEqual([]);
    expect(await ledger.turnMonths(RETENTION)).toEqual([
      { month: monthStart(now, -3), tenants: expect.arrayContaining(tenants) },
    ]);
    for (const tenantId of tenants) expect(await ledger.verify(tenantId)).toMatchObject({ rows: 10, findings: [] });
  });
});

describe("the vault's own chain", () => {
  const entries = () =>
    ledger.rows<{ number: number; kind: string }>(
      VAULT_TENANT_ID,
      "select number, kind from audit_seals order by number",
    );
  const event = (entityId: string) =>
    recordVaultEvent(ledger, { entityType: "server", entityId, operation: "start", remark: "a test" });

  async function agedVault() {
    for (let n = 0; n < 5; n += 1) await event(`old-${n}`);
    const { tenants } = await filledLog();
    await event("new");
    // From here on nothing is attested: the second tenant's last attestation is old.
    ledger.clock.time = now.getTime();
    return tenants;
  }

  it("loses its entries and rows past their retention, and knows the last seal of each tenant", async () => {
    const idle = await ledger.newTenant();
    await sealAt(ledger.clock.time + 3 * MINUTE);
    const tenants = [idle, ...(await agedVault())];
    const before = await ledger.verifyVault();
    expect(before.findings).toEqual([]);
    await sealAt(now.getTime());
    expect(await ledger.turnMonths(RETENTION)).toEqual([]);
    const [first, ...others] = await entries();
    expect(first?.number).toBeGreaterThan(1);
    expect(others.some(({ kind }) => kind === "event")).toBe(true);
    const { findings, attested } = await ledger.verifyVault();
    expect(findings).toEqual([]);
    expect([...attested.keys()].sort()).toEqual([...before.attested.keys()].sort());
    expect([...attested.keys()]).toEqual(expect.arrayContaining(tenants));
    const left = await ledger.rows<{ id: string }>(VAULT_TENANT_ID, "select entity_id as id from audit_logs");
    expect(left.map(({ id }) => id)).not.toContain("old-0");
    expect(left.map(({ id }) => id)).toContain("new");
    await event("later");
    expect((await ledger.verifyVault()).findings).toEqual([]);
    expect(await ledger.turnMonths(RETENTION)).toEqual([]);
    expect((await ledger.verifyVault()).findings).toEqual([]);
  });

  it.each([
    ["the entry from which it begins", "delete from audit_seals where number = (select min(number) from audit_seals)"],
    ["an entry in the middle", "delete from audit_seals where number = (select max(number) - 1 from audit_seals)"],
    ["a row of its log", "delete from audit_logs where entity_id = 'new'"],
    ["the time from which it is kept", "update audit_heads set kept_from = now()"],
  ])("is found to be changed without %s", async (_, statement) => {
    await agedVault();
    await ledger.turnMonths(RETENTION);
    expect((await ledger.verifyVault()).findings).toEqual([]);
    await ledger.tamper(VAULT_TENANT_ID, statement);
    expect((await ledger.verifyVault()).findings).not.toEqual([]);
  });

  it("keeps events that a sink has not got, and is left as it is if it was tampered with", async () => {
    await agedVault();
    const before = await entries();
    expect(await ledger.turnMonths({ ...RETENTION, sinks: ["file"] })).toEqual([
      { month: monthStart(now, -3), tenants: [VAULT_TENANT_ID] },
    ]);
    expect((await ledger.verifyVault()).findings).toEqual([]);
    expect((await entries()).filter(({ kind }) => kind === "event")).toEqual(
      before.filter(({ kind }) => kind === "event"),
    );
    await ledger.tamper(VAULT_TENANT_ID, "update audit_heads set number = number + 1");
    await ledger.turnMonths(RETENTION);
    expect(await entries()).toEqual(expect.arrayContaining(before.slice(1)));
  });
});
