import type { Config } from "../settings/config.js";
import {
  type EmbeddedDatabase,
  shareEmbeddedDatabase,
  startEmbeddedDatabase,
} from "../store/embedded/embedded-database.js";
import { pendingMigrations } from "../store/migrate.js";
import { ranMigrations } from "../store/migration-ledger.js";
import { awaitDatabase, NO_WAIT, type StartupWait } from "../store/postgres/await-database.js";
import { type DatabaseAddress, type Sql, soleConnection } from "../store/postgres/connect.js";
import {
  DatabaseSetupError,
  privilegedRole,
  refusePrivilegedRole,
  requireRoles,
  requireRolesOrRights,
  withoutPrivileges,
} from "../store/postgres/roles.js";
import { listTenantIds } from "../store/tenancy/tenants.js";

/**
 * The vault's user. `server` owns the embedded database. `command` uses it beside a running server, or starts it for
 * itself, and fails if it does not exist. `setup` is a command that creates a missing one, with its root key.
 */
export type VaultUser = "server" | "command" | "setup";

/**
 * The addresses for statements, and for the owner of the tables.
 * @param embedded of the embedded database, if it is used.
 * @throws {DatabaseSetupError} if there is no database.
 */
export function databaseAddresses(
  config: Config,
  embedded: DatabaseAddress | undefined,
): { address: DatabaseAddress; ownerAddress: DatabaseAddress } {
  if (embedded) return { address: embedded, ownerAddress: embedded };
  if (!config.databaseUrl)
    throw new DatabaseSetupError("Set DATABASE_URL to the database that this command is to work on.");
  const address = { url: config.databaseUrl.reveal() };
  return { address, ownerAddress: config.migrateDatabaseUrl ? { url: config.migrateDatabaseUrl.reveal() } : address };
}

export async function hasNoTenant(ownerAddress: DatabaseAddress): Promise<boolean> {
  await using sql = soleConnection(ownerAddress);
  return (await listTenantIds(sql, undefined)).length === 0;
}

export async function hasNoSchema(ownerAddress: DatabaseAddress): Promise<boolean> {
  await using sql = soleConnection(ownerAddress);
  return (await ranMigrations(sql)).length === 0;
}

export function openEmbedded(
  config: Config,
  as: VaultUser,
  announce: (line: string) => void,
): Promise<EmbeddedDatabase> {
  const options = { dataDir: config.dataDir, announce };
  if (as === "server") return startEmbeddedDatabase(options);
  return shareEmbeddedDatabase({ ...options, mayCreate: as === "setup" });
}

/** Waits for the database to respond at both addresses. Returns the logins of both, which may be the same. */
export async function awaitBoth(
  address: DatabaseAddress,
  ownerAddress: DatabaseAddress,
  wait: StartupWait = NO_WAIT,
): Promise<string[]> {
  const login = await awaitDatabase(address, "DATABASE_URL", wait);
  if (address === ownerAddress) return [login];
  return [login, await awaitDatabase(ownerAddress, "MIGRATE_DATABASE_URL", wait)];
}

/** @throws {DatabaseSetupError} with the command to run if migrations are pending; also for a schema of another program. */
export async function requireMigrated(address: DatabaseAddress, folder?: string): Promise<void> {
  const pending = await pendingMigrations(address, folder);
  if (pending.length === 0) return;
  await withLogin(address, requireRolesOrRights);
  const isEmpty = pending[0]?.startsWith("0001_");
  if (isEmpty) throw new DatabaseSetupError("The database has no schema yet. Run: cloakroom init");
  throw new DatabaseSetupError(`The database lacks the migrations ${pending.join(", ")}. Run: cloakroom migrate`);
}

/** Queries as the login itself, not as the role that statements run as. */
async function withLogin(
  address: DatabaseAddress,
  check: (sql: Sql, logins: readonly string[]) => Promise<void>,
): Promise<void> {
  await using sql = soleConnection(address);
  const [me] = await sql<{ name: string }[]>`select current_user as name`;
  await check(sql, me ? [me.name] : []);
}

/** @throws {DatabaseSetupError} if the role that runs statements is missing, or row-level security does not apply to it. */
export async function checkRole(address: DatabaseAddress): Promise<void> {
  await withLogin(address, requireRoles);
  await using sql = soleConnection(address, { role: "cloakroom_app" });
  await refusePrivilegedRole(sql);
}

/**
 * The logins of DATABASE_URL and MIGRATE_DATABASE_URL that row-level security does not restrict, with advice on each.
 */
export async function privilegedLogins({
  databaseUrl,
  migrateDatabaseUrl,
}: Config): Promise<readonly { readonly warning: string }[]> {
  const found: { warning: string }[] = [];
  for (const [setting, url] of Object.entries({
    DATABASE_URL: databaseUrl,
    MIGRATE_DATABASE_URL: migrateDatabaseUrl,
  })) {
    if (!url) continue;
    await using sql = soleConnection({ url: url.reveal() });
    const role = await privilegedRole(sql);
    if (role === undefined) continue;
    const remedy = await withoutPrivileges(sql, role);
    found.push({
      warning: `${setting} logs in as ${role}, a superuser or a role that bypasses row-level security. Use a login that owns the database and may create roles. Run:\n${remedy}`,
    });
  }
  return found;
}
