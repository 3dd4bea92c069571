import { readBuildVersion } from "../base/build-version.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { IS_RARE_TYPE } from "./audit/log-listing.js";
import { knownMigrations } from "./migration-ledger.js";
import { listMigrations, lockedTables, readMigration } from "./migration-plan.js";
import { APPLICATION_PREFIX, type DatabaseAddress, type Sql, soleConnection } from "./postgres/connect.js";
import { retryingLocks } from "./transactions/lock-retries.js";

export interface PendingMigration {
  readonly name: string;
  /** The table that it builds an index on, beside its writers. */
  readonly indexes: SizedTable | undefined;
  /** The tables that no request can use while it runs. */
  readonly locks: readonly SizedTable[];
}

export interface SizedTable {
  readonly table: string;
  readonly bytes: number;
  readonly rows: number;
}

export type UpgradeFacts = Awaited<ReturnType<typeof readUpgradeFacts>>;

/**
 * @param folder of the migrations that the upgrade would run.
 * @throws {DatabaseSetupError} for a schema of a newer program, or from before the first release.
 */
export async function readUpgradeFacts(owner: DatabaseAddress, folder: string) {
  await using sql = soleConnection(owner);
  const names = await listMigrations(folder);
  const done = await knownMigrations(sql, names);
  const pending: PendingMigration[] = [];
  for (const name of names.filter((each) => !done.includes(each))) {
    const plan = await readMigration(folder, name);
    const indexes = plan.kind === "index" ? await databaseSize(sql, plan.table) : undefined;
    const locks = await Promise.all(lockedTables(plan).map((table) => databaseSize(sql, table)));
    pending.push({ name, indexes, locks });
  }
  const [server] = await sql<{ number: number; version: string; now: Date }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version, now() as now`;
  return {
    pending,
    /** The version that ran the last migration. Undefined without a schema. */
    schemaOf: done.length === 0 ? undefined : await lastVersion(sql),
    /** Such as 180004. */
    postgresNumber: server?.number ?? 0,
    postgresVersion: server?.version ?? "unknown",
    /** Connections of other versions, by version. */
    others: await otherVersions(sql),
    lastBackup: done.length === 0 ? undefined : await lastBackup(sql),
    now: server?.now ?? new Date(0),
  };
}

async function databaseSize(sql: Sql, table: string): Promise<SizedTable> {
  const [found] = await sql<{ bytes: number; rows: number }[]>`
    select coalesce(sum(pg_table_size(oid)), 0)::bigint as bytes, coalesce(sum(greatest(reltuples, 0)), 0)::bigint as rows
    from pg_class where oid = to_regclass(${table}) or oid in (select relid from pg_partition_tree(to_regclass(${table})))`;
  return { table, bytes: found?.bytes ?? 0, rows: found?.rows ?? 0 };
}

async function lastVersion(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ version: string }[]>`select version from migrations order by name desc limit 1`;
  return row?.version;
}

async function otherVersions(sql: Sql): Promise<Readonly<Record<string, number>>> {
  const rows = await sql<{ version: string; sessions: number }[]>`
    select substr(application_name, ${APPLICATION_PREFIX.length + 1}::int) as version, count(*)::int as sessions
    from pg_stat_activity
    where datname = current_database() and application_name ~ ${`^${APPLICATION_PREFIX}[0-9]`}
    group by 1 order by 1`;
  const own = readBuildVersion().version;
  return Object.fromEntries(rows.filter(({ version }) => version !== own).map((row) => [row.version, row.sessions]));
}

/** Row-level security applies to the owner too. */
function lastBackup(sql: Sql): Promise<Date | undefined> {
  return retryingLocks(() =>
    sql.begin(async (tx) => {
      await tx.unsafe(`set local role cloakroom_app; set local app.tenant_id = '${VAULT_TENANT_ID}'`);
      const [row] = await tx<{ at: Date | null }[]>`
        select max(created_at) as at from audit_logs where tenant_id = ${VAULT_TENANT_ID} and entity_type = 'backup' and ${tx.unsafe(IS_RARE_TYPE)}`;
      return row?.at ?? undefined;
    }),
  );
}
