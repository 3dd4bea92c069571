import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { archivedFile } from "../../../src/audit/archive/log-archive.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { DAY_MS, MINUTE_MS } from "../../../src/base/clock.js";
import type { TenantId } from "../../../src/base/ids.js";
import { logMonthsJob } from "../../../src/jobs/log-months.js";
import { logSealsJob } from "../../../src/jobs/log-seals.js";
import { configuredArchiving } from "../../../src/server/log-archiving.js";
import { readConfig } from "../../../src/settings/config.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { listLogPartitions, monthStart } from "../../../src/store/audit/log-partitions.js";
import { soleConnection } from "../../../src/store/postgres/connect.js";
import { provisionTenant } from "../../../src/tenancy/provision.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { cloakroom } from "../../support/command.js";
import { startReplica } from "../../support/replica.js";
import { type RestClient, restClient } from "../../support/rest.js";

type Environment = Readonly<Record<string, string>>;

export interface OldTenant {
  readonly id: TenantId;
  readonly managementKey: string;
  /** Of its archived month. */
  readonly file: string;
}

const OLD_ROWS = 4;
/** Of the tenant's creation: the tenant, its owner, an application and its key. */
const FIRST_ROWS = 4;

/**
 * Archives a month of three tenants, changes a file of the third, and expects it to be named for that tenant alone: by
 * `audit verify --archive`, by `audit verify FILE` and by lists.
 * @param environment of a vault without tenants, whose CLOAKROOM_LOG_ARCHIVE is a directory.
 */
export async function expectAlteredFileNamed(environment: Environment): Promise<void> {
  const month = monthStart(new Date(), -3);
  const tenants = await archiveMonth(environment, month);
  const [first, second, third] = tenants;
  if (!first || !second || !third) throw new Error("there are three tenants");
  await using server = await startReplica(environment);
  const lists = new Map(tenants.map(({ id, managementKey }) => [id, restClient(server.url, managementKey)]));
  const old = (tenant: OldTenant) => oldRows(lists.get(tenant.id), month);
  const before = new Map<TenantId, readonly string[]>();
  for (const tenant of tenants) {
    const { status, rows } = await old(tenant);
    expect([status, rows.length]).toEqual([200, OLD_ROWS + FIRST_ROWS]);
    before.set(tenant.id, rows);
  }
  expect(await verifyArchived(environment, month)).toEqual({ code: 0, named: [] });

  const whole = await readFile(third.file);
  const altered = Buffer.from(whole);
  altered[whole.length >> 1] = (altered[whole.length >> 1] ?? 0) ^ 1;
  await writeFile(third.file, altered);
  expect(await verifyArchived(environment, month)).toEqual({ code: 1, named: [[third.id, "file_changed"]] });
  expect(await cloakroom(environment, "audit", "verify", third.file)).toMatchObject({ code: 1 });
  // The log in the database is as it was.
  expect(await cloakroom(environment, "audit", "verify")).toMatchObject({ code: 0 });
  const refused = await old(third);
  expect([refused.status, refused.detail]).toEqual([503, expect.stringContaining(month.toISOString().slice(0, 7))]);
  expect(refused.detail).toContain("has another file in its place");
  const newer = await lists.get(third.id)?.("GET", `/logs?start_date=${monthStart(new Date()).toISOString()}`);
  expect(newer?.status).toBe(200);
  for (const other of [first, second])
    expect(await old(other)).toMatchObject({ status: 200, rows: before.get(other.id) });
  expect(server.said()).toContain(third.file.slice(third.file.lastIndexOf("/") + 1));

  await rm(third.file);
  expect(await verifyArchived(environment, month)).toEqual({ code: 1, named: [[third.id, "file_missing"]] });
  // Nor does that of another tenant take its place.
  await writeFile(third.file, await readFile(first.file));
  expect(await verifyArchived(environment, month)).toEqual({ code: 1, named: [[third.id, "file_changed"]] });
  await writeFile(third.file, whole);
  expect(await verifyArchived(environment, month)).toEqual({ code: 0, named: [] });
  expect(await old(third)).toMatchObject({ status: 200, rows: before.get(third.id) });
}

/** The findings of all tenants, which must be of one month. */
export async function verifyArchived(environment: Environment, month: Date) {
  const { code, stdout } = await cloakroom(environment, "audit", "verify", "--archive", "--json");
  const verdicts: readonly { tenant_id: string; findings: readonly { kind: string; minute: string }[] }[] =
    JSON.parse(stdout);
  const named = verdicts.flatMap(({ tenant_id, findings }) =>
    findings.map(({ kind, minute }) => {
      expect(minute).toBe(month.toISOString());
      return [tenant_id, kind];
    }),
  );
  return { code, named };
}

export async function oldRows(list: RestClient | undefined, month: Date) {
  const range = `start_date=${month.toISOString()}&end_date=${monthStart(month, 1).toISOString()}`;
  const response = await list?.("GET", `/logs?${range}&size=50`);
  const data: readonly { id: string }[] = response?.body.data ?? [];
  return { status: response?.status, detail: response?.body.detail, rows: data.map(({ id }) => id) };
}

/** Three tenants, made in a month that has been archived and removed since. */
export async function archiveMonth(environment: Environment, month: Date): Promise<readonly OldTenant[]> {
  const clock = { time: month.getTime() + 10 * DAY_MS, now: () => clock.time };
  const config = readConfig(environment);
  await using vault = await openVault({ config, as: "command", announce: () => {}, clock });
  const made: { readonly id: TenantId; readonly managementKey: string }[] = [];
  for (const name of ["One", "Two", "Three"]) {
    const { tenantId, managementKey } = await provisionTenant(vault, { name, ownerEmail: "a@example.com" });
    made.push({ id: tenantId, managementKey: managementKey.reveal() });
    await vault.database.of(tenantId).shared(async (tx) => {
      for (let row = 0; row < OLD_ROWS; row += 1) writeLog(tx, logEntry("token", `token-${row}`, "read"));
    });
  }
  await turn(vault, environment, clock);
  return made.map((tenant) => ({
    ...tenant,
    file: join(environment.CLOAKROOM_LOG_ARCHIVE ?? "", archivedFile(tenant.id, month)),
  }));
}

/** Seals what is written, and archives and removes what is past its retention at the present time. */
async function turn(vault: Vault, environment: Environment, clock: { time: number; now(): number }): Promise<void> {
  const config = readConfig(environment);
  const problems: unknown[] = [];
  const parts = {
    ...{ database: vault.database, keyring: vault.keyring, address: vault.address, ownerAddress: vault.ownerAddress },
    ...{ clock, retentionDays: config.auditRetentionDays, archiving: configuredArchiving(config) },
    onFailure: (_: TenantId, error: unknown) => problems.push(error),
    onVaultBroken: () => problems.push("the vault's chain"),
    onBroken: (tenantId: TenantId) => problems.push(tenantId),
    onArchive: (problem: string | undefined) => problems.push(problem),
    onBlocked: (blocked: unknown) => problems.push(blocked),
    onStuck: (stuck: unknown) => problems.push(stuck),
    onLag: () => {},
  };
  const { signal } = new AbortController();
  const seals = logSealsJob(parts);
  const months = logMonthsJob(parts);
  clock.time += 3 * MINUTE_MS;
  await seals.run(signal);
  clock.time = Date.now();
  await seals.run(signal);
  await months.run(signal);
  await seals.end?.();
  await months.end?.();
  expect(problems).toEqual([]);
  await using sql = soleConnection(vault.ownerAddress);
  const oldest = monthStart(new Date(clock.time - config.auditRetentionDays * DAY_MS));
  expect((await listLogPartitions(sql))[0]?.from.getTime()).toBeGreaterThanOrEqual(oldest.getTime());
}
