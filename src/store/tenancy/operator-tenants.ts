import { isTenantId, type TenantId, timeOfUuid, type Uuid, VAULT_TENANT_ID } from "../../base/ids.js";
import { TENANT_SHARDS } from "../jobs/due.js";
import { type DatabaseAddress, type Sql, soleConnection } from "../postgres/connect.js";
import { DatabaseSetupError } from "../postgres/roles.js";
import { quoteName } from "../statements/sql-text.js";

/** The name of the leases of the shards of tenants whose logs a server seals. */
export const SEALING_LEASE = "log-seals";

/**
 * The tenants that are not deleted, oldest first. Only the owner of the tables can list them.
 * @param limit null for all.
 */
export async function listActiveTenantsOn(sql: Sql, limit: number | null = null): Promise<TenantId[]> {
  const rows = await sql<{ id: string }[]>`
    select tenant_id as id from tenants where state = 'active' order by created_at, tenant_id limit ${limit}`;
  return rows.map(({ id }) => id).filter(isTenantId);
}

/** The same, on a connection of its own. */
export function listActiveTenants(ownerAddress: DatabaseAddress): Promise<TenantId[]> {
  return asOwner(ownerAddress, (sql) => listActiveTenantsOn(sql));
}

/** The same, up to a number of tenants. */
export function listActiveTenantsUpTo(ownerAddress: DatabaseAddress, limit: number): Promise<TenantId[]> {
  return asOwner(ownerAddress, (sql) => listActiveTenantsOn(sql, limit));
}

export interface Deletion {
  readonly at: Date | null;
  readonly by: string | null;
  /** Proves that the vault deleted the tenant itself. */
  readonly mac: Buffer | null;
}

export function readDeletion(ownerAddress: DatabaseAddress, tenantId: TenantId): Promise<Deletion | undefined> {
  return asOwner(ownerAddress, async (sql) => {
    const [row] = await sql<Deletion[]>`
      select modified_at as at, modified_by as by, closing_mac as mac from tenants where tenant_id = ${tenantId} and state = 'deleted'`;
    return row;
  });
}

/** Tenants whose log is closed beyond the present of the database's clock, which was therefore set back. */
export function listClosedAhead(ownerAddress: DatabaseAddress): Promise<TenantId[]> {
  return asOwner(ownerAddress, async (sql) => {
    const rows = await sql<{ id: string }[]>`
      select tenant_id as id from tenants where state = 'active' and audit_closed_until > now() order by tenant_id`;
    return rows.map(({ id }) => id).filter(isTenantId);
  });
}

/** A log whose rows before a time may have to be kept. */
export interface KeptLog {
  readonly tenantId: TenantId;
  /** Rows before this may be removed, by the head of the chain. Null: it says nothing, or there is none. */
  readonly keptFrom: Date | null;
}

/**
 * The logs of tenants that are not deleted, and the vault's own, whose heads do not free all rows before a time.
 * @throws {DatabaseSetupError} if the login does not see them: then they would look freed.
 */
export async function listKeptLogs(sql: Sql, until: Date): Promise<readonly KeptLog[]> {
  const [vault] = await sql<{ keptFrom: Date | null }[]>`
    select kept_from as "keptFrom" from audit_heads where tenant_id = ${VAULT_TENANT_ID}`;
  const logs = await sql<KeptLog[]>`
    select t.tenant_id as "tenantId", h.kept_from as "keptFrom"
    from tenants t left join audit_heads h on h.tenant_id = t.tenant_id
    where t.state = 'active' and t.tenant_id <> ${VAULT_TENANT_ID} and (h.kept_from is null or h.kept_from < ${until})
    order by t.tenant_id`;
  if (!vault) throw new DatabaseSetupError(await blindLogin(sql));
  const { keptFrom } = vault;
  return keptFrom && keptFrom >= until ? logs : [{ tenantId: VAULT_TENANT_ID, keptFrom }, ...logs];
}

/** The policies that show the owner of the tables what it needs of all tenants. A restore may leave another login there. */
const OPERATOR_TABLES = ["tenants", "audit_heads", "audit_logs_default"];

/** What to do if the owner of the tables does not see tenants; undefined if it does. */
export async function blindLoginProblem(sql: Sql): Promise<string | undefined> {
  const [policies] = await sql<{ n: number }[]>`
    select count(*) as n from pg_policy
    where polname = 'of_operator' and exists (select from unnest(polroles) role where pg_has_role(role, 'USAGE'))`;
  return policies?.n === OPERATOR_TABLES.length ? undefined : blindLogin(sql);
}

async function blindLogin(sql: Sql): Promise<string> {
  const [me] = await sql<{ name: string }[]>`select current_user as name`;
  const statements = OPERATOR_TABLES.map(
    (table) => `alter policy of_operator on ${table} to ${quoteName(me?.name ?? "")};`,
  );
  return `The login that owns the tables sees no logs of tenants, so no month of the log is removed. Let it run:\n${statements.join("\n")}`;
}

/** Logs without the record of where their chain ends, which each has from its beginning. */
export interface EmptiedLogs {
  readonly tenants: readonly TenantId[];
  /** The vault's own, although there are tenants. */
  readonly isVaultEmpty: boolean;
}

export function listEmptiedLogs(ownerAddress: DatabaseAddress): Promise<EmptiedLogs> {
  return asOwner(ownerAddress, async (sql) => {
    const rows = await sql<{ id: string }[]>`
      select t.tenant_id as id from tenants t left join audit_heads h on h.tenant_id = t.tenant_id
      where t.state = 'active' and h.tenant_id is null order by t.tenant_id`;
    // Citus runs no query whose subqueries are all it has.
    const [anyTenant] = await sql`select 1 from tenants where state = 'active' limit 1`;
    const [entries] = await sql`select 1 from audit_heads where tenant_id = ${VAULT_TENANT_ID} and number > 0`;
    return { tenants: rows.map(({ id }) => id).filter(isTenantId), isVaultEmpty: anyTenant !== undefined && !entries };
  });
}

/**
 * Since when servers have been sealing the logs of all tenants, if they are. The id of each in its leases contains the
 * time of its start.
 */
export function sealingSince(address: DatabaseAddress): Promise<Date | undefined> {
  return asOwner(address, async (sql) => {
    const shards = Array.from({ length: TENANT_SHARDS }, (_, shard) => `${SEALING_LEASE} ${shard}`);
    const leases = await sql<{ holder: Uuid }[]>`
      select holder from leases where name = any(${shards}) and until > clock_timestamp()`;
    const starts = leases.map(({ holder }) => timeOfUuid(holder)?.getTime() ?? Number.NaN);
    return leases.length === TENANT_SHARDS ? new Date(Math.max(...starts)) : undefined;
  });
}

async function asOwner<T>(ownerAddress: DatabaseAddress, ask: (sql: Sql) => Promise<T>): Promise<T> {
  await using sql = soleConnection(ownerAddress, { statementTimeout: 60_000 });
  return await ask(sql);
}
