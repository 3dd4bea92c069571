import { rmSync } from "node:fs";
import { join } from "node:path";
import { ChainHistory } from "../../../src/audit/chain/chain-history.js";
import { makeLogMonths } from "../../../src/audit/chain/log-months.js";
import type { SealParts } from "../../../src/audit/chain/seal-log.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { MINUTE_MS } from "../../../src/base/clock.js";
import { newUuid, type TenantId, type Uuid } from "../../../src/base/ids.js";
import { logSealsJob } from "../../../src/jobs/log-seals.js";
import { type Config, readConfig } from "../../../src/settings/config.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { monthStart, monthsPartition, partitionBounds } from "../../../src/store/audit/log-partitions.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { provisionTenant } from "../../../src/tenancy/provision.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { say } from "../table.js";
import { timed } from "./timed.js";

/** As many as the default retention of 400 days keeps. */
export const MONTHS = 14;
const TENANTS = 8;
/** A busy minute of a tenant: 33 transactions a second of 12 rows each take five seconds. */
const ROWS_A_MINUTE = 2_000;
const ROWS_A_TRANSACTION = 12;

/** A tenant, and things that its rows name. */
export interface LoggedTenant {
  readonly tenantId: TenantId;
  readonly key: string;
  readonly actors: readonly Uuid[];
}

/** A vault whose log is months old, with a clock that can be moved. */
export interface OldVault extends AsyncDisposable {
  readonly vault: Vault;
  readonly parts: SealParts;
  readonly owner: Sql;
  readonly clock: { time: number; now(): number };
  readonly tenants: readonly LoggedTenant[];
}

/** Opens a new vault in a directory, on the embedded database. */
export async function openOldVault(directory: string): Promise<OldVault> {
  const config: Config = readConfig({ CLOAKROOM_DATA_DIR: join(directory, "data") });
  const clock = { time: Date.now(), now: () => clock.time };
  const vault = await openVault({ config, as: "setup", announce: () => {}, clock });
  const owner = connect(vault.ownerAddress, { connections: 2, statementTimeout: 0 });
  const parts = { database: vault.database, keyring: vault.keyring, history: new ChainHistory() };
  const tenants: LoggedTenant[] = [];
  clock.time = monthStart(new Date(), -MONTHS).getTime();
  await makeLogMonths(vault, new Date(clock.time));
  for (let made = 0; made < TENANTS; made += 1) {
    const { tenantId, managementKey } = await provisionTenant(vault, { name: `Tenant ${made}`, ownerEmail: "a@b.c" });
    tenants.push({ tenantId, key: managementKey.reveal(), actors: Array.from({ length: 20 }, () => newUuid()) });
  }
  return {
    ...{ vault, parts, owner, clock, tenants },
    async [Symbol.asyncDispose]() {
      await owner.end({ timeout: 5 });
      await vault[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Fills the months before this one with about so many rows. The oldest is written in minutes of each tenant, and sealed.
 * The others are copies of it at later times, not sealed, whose indexes are built when they have their rows.
 */
export async function fillMonths(old: OldVault, rows: number): Promise<void> {
  const minutes = Math.ceil(rows / MONTHS / TENANTS / ROWS_A_MINUTE);
  const monthRows = minutes * TENANTS * ROWS_A_MINUTE;
  const each = (seconds: number) => `${((seconds * 1e6) / monthRows).toFixed(1)} µs a row`;
  const { seconds: inserting } = await timed(() => fillOldestMonth(old, minutes));
  const { seconds: sealing } = await timed(() => sealRows(old));
  say(`${monthRows} rows of a month: inserted by the thousand in ${each(inserting)}, sealed in ${each(sealing)}`);
  const later = Array.from({ length: MONTHS - 1 }, (_, ago) => monthStart(new Date(), -1 - ago));
  // Before the copies: each takes its month out of the log, under a lock, until it has its rows.
  for (const month of later) await makeLogMonths(old.vault, month);
  const copyNext = async () => {
    for (let month = later.pop(); month !== undefined; month = later.pop()) {
      const to = month;
      const { seconds: copying } = await timed(() => copyOldestMonth(old, to));
      say(`  a copy of them in ${to.toISOString().slice(0, 7)}, with its indexes in ${each(copying)}`);
    }
  };
  await Promise.all([copyNext(), copyNext()]);
  old.clock.time = Date.now();
  say(`${monthRows * MONTHS} rows`);
}

async function fillOldestMonth(old: OldVault, minutes: number): Promise<void> {
  const [from, until] = [monthStart(new Date(), -MONTHS).getTime(), monthStart(new Date(), 1 - MONTHS).getTime()];
  const apart = Math.floor((until - from) / (minutes + 2) / MINUTE_MS) * MINUTE_MS;
  for (let minute = 1; minute <= minutes; minute += 1) {
    old.clock.time = from + minute * apart;
    await Promise.all(old.tenants.map((tenant) => fillMinute(old, tenant)));
  }
  // The chain has to reach the end of the month before its file may be written.
  old.clock.time = until + MINUTE_MS;
  await makeLogMonths(old.vault, new Date(old.clock.time));
  await Promise.all(old.tenants.map((tenant) => listTokens(old.vault, tenant)));
}

async function sealRows({ parts, clock }: OldVault): Promise<void> {
  const failed: unknown[] = [];
  const job = logSealsJob({
    ...{ ...parts, clock, retentionDays: 0, archiving: undefined },
    onFailure: (_, error) => failed.push(error),
    onBroken: (tenantId) => failed.push(tenantId),
  });
  clock.time += 3 * MINUTE_MS;
  await job.run(new AbortController().signal);
  await job.end?.();
  if (failed.length > 0) throw new Error(`a log was not sealed: ${failed[0]}`);
}

/**
 * Stretches the times of the oldest month over this one, with ids to match. Rows of one transaction keep one time. The
 * month is no part of the log until it has its rows and indexes.
 */
async function copyOldestMonth({ owner }: OldVault, month: Date): Promise<void> {
  const oldest = monthsPartition(monthStart(new Date(), -MONTHS));
  const to = monthsPartition(month);
  const stretch = (to.until.getTime() - to.from.getTime()) / (oldest.until.getTime() - oldest.from.getTime());
  const copied: Readonly<Record<string, string>> = {
    created_at: "moved_to",
    id: "(substr(ms, 1, 8) || '-' || substr(ms, 9) || substr(id::text, 14))::uuid",
  };
  await owner.unsafe(`alter table audit_logs detach partition ${to.name}`);
  await owner.begin(async (tx) => {
    await tx.unsafe(`set local maintenance_work_mem = '512MB'; set local synchronous_commit = off`);
    await tx.unsafe(`alter table ${to.name} no force row level security`);
    const indexes = await tx<{ name: string; definition: string }[]>`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
      from pg_index where indrelid = ${to.name}::text::regclass and not indisprimary`;
    await tx.unsafe(`alter table ${to.name} drop constraint ${to.name}_pkey`);
    for (const { name } of indexes) await tx.unsafe(`drop index ${name}`);
    const columns = await tx<{ name: string }[]>`
      select attname::text as name from pg_attribute
      where attrelid = ${to.name}::text::regclass and attnum > 0 and attgenerated = ''`;
    await tx`
      insert into ${tx(to.name)} (${tx(columns.map(({ name }) => name))})
      select ${tx.unsafe(columns.map(({ name }) => copied[name] ?? name).join(", "))}
      from ${tx(oldest.name)} cross join lateral (
        select date_trunc(
          'milliseconds', ${to.from}::timestamptz + (created_at - ${oldest.from}::timestamptz) * ${stretch}::float8
        ) as moved_to
      ) moved cross join lateral (
        select lpad(to_hex((extract(epoch from moved_to) * 1000)::bigint), 12, '0') as ms
      ) milliseconds`;
    await tx.unsafe(`alter table ${to.name} add primary key (id, tenant_id, created_at)`);
    for (const { definition } of indexes) await tx.unsafe(definition);
    const bounds = `created_at >= '${to.from.toISOString()}' and created_at < '${to.until.toISOString()}'`;
    await tx.unsafe(`alter table ${to.name} add check (${bounds}), force row level security`);
  });
  await owner.unsafe(`alter table audit_logs attach partition ${to.name} ${partitionBounds(to)}`);
}

async function fillMinute(
  { vault, owner, clock }: Pick<OldVault, "vault" | "owner" | "clock">,
  { tenantId, actors }: LoggedTenant,
): Promise<void> {
  await listTokens(vault, { tenantId });
  await owner.begin(async (tx) => {
    await tx.unsafe(`set local role cloakroom_app; set local app.tenant_id = '${tenantId}'`);
    await tx`
      insert into audit_logs (tenant_id, created_at, id, actor_id, actor_type, entity_type, entity_id, operation, message,
        key_id, source_ip, client, trace_id, outcome, code, transform, destination_host)
      select ${tenantId}::uuid, at, (substr(ms, 1, 8) || '-' || substr(ms, 9) || '-7' || substr(h, 1, 3) || '-8' ||
          substr(h, 4, 3) || '-' || substr(h, 7, 12))::uuid,
        actor, 'application', case when n % 10 = 0 then 'proxy' else 'card' end, 'entity-' || substr(h, 1, 5),
        'read', 'Token retrieved', actor, '203.0.113.1'::inet + (n % 200), 'node', md5(at::text)::uuid,
        case when n % 100 = 7 then 'denied' else 'allowed' end, case when n % 100 = 7 then 'permission_denied' end,
        'reveal', case when n % 10 = 0 then 'host-' || n % 50 || '.example.com' end
      from (
        select n, h, at, lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as ms,
          (${actors}::uuid[])[1 + (n / ${ROWS_A_TRANSACTION}) % ${actors.length}] as actor
        from (
          select n, md5(random()::text) as h,
            ${new Date(clock.time)}::timestamptz + (n / ${ROWS_A_TRANSACTION}) * interval '30 milliseconds' as at
          from generate_series(1, ${ROWS_A_MINUTE - 1}) n
        ) each
      ) named`;
  });
}

/** Writes a row as a request does, which has the minute sealed. */
async function listTokens(vault: Vault, { tenantId }: Pick<LoggedTenant, "tenantId">): Promise<void> {
  await vault.database.of(tenantId).shared(async (tx) => writeLog(tx, logEntry("token", "*", "list")));
}
