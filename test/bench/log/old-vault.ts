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
import { monthStart } from "../../../src/store/audit/log-partitions.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { provisionTenant } from "../../../src/tenancy/provision.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { say } from "../table.js";

export const MONTHS = 6;
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

/** Fills the months before this one with about so many rows, and seals them. */
export async function fillMonths({ vault, parts, owner, clock, tenants }: OldVault, rows: number): Promise<void> {
  const failed: unknown[] = [];
  const job = logSealsJob({
    ...{ ...parts, clock, retentionDays: 0, archiving: undefined },
    onFailure: (_, error) => failed.push(error),
    onBroken: (tenantId) => failed.push(tenantId),
  });
  const minutes = Math.ceil(rows / MONTHS / TENANTS / ROWS_A_MINUTE);
  const spent = { inserting: 0, sealing: 0 };
  for (let ago = MONTHS; ago > 0; ago -= 1) {
    const [from, until] = [monthStart(new Date(), -ago).getTime(), monthStart(new Date(), 1 - ago).getTime()];
    await makeLogMonths(vault, new Date(from));
    const apart = Math.floor((until - from) / (minutes + 2) / MINUTE_MS) * MINUTE_MS;
    let begun = performance.now();
    for (let minute = 1; minute <= minutes; minute += 1) {
      clock.time = from + minute * apart;
      await Promise.all(tenants.map((tenant) => fillMinute({ vault, owner, clock }, tenant)));
    }
    spent.inserting += performance.now() - begun;
    begun = performance.now();
    clock.time += 3 * MINUTE_MS;
    await job.run(new AbortController().signal);
    spent.sealing += performance.now() - begun;
    if (failed.length > 0) throw new Error(`a log was not sealed: ${failed[0]}`);
    say(`  ${minutes * TENANTS * ROWS_A_MINUTE} rows of ${new Date(from).toISOString().slice(0, 7)}`);
  }
  await job.end?.();
  clock.time = Date.now();
  const all = minutes * MONTHS * TENANTS * ROWS_A_MINUTE;
  const each = (milliseconds: number) => `${((milliseconds * 1_000) / all).toFixed(1)} µs a row`;
  say(`${all} rows: inserted by the thousand in ${each(spent.inserting)}, sealed in ${each(spent.sealing)}`);
}

async function fillMinute(
  { vault, owner, clock }: Pick<OldVault, "vault" | "owner" | "clock">,
  { tenantId, actors }: LoggedTenant,
): Promise<void> {
  // As a request does, which also has the minute sealed.
  await vault.database.of(tenantId).shared(async (tx) => writeLog(tx, logEntry("token", "*", "list")));
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
