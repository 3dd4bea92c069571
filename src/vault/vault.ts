import { type Clock, systemClock } from "../base/clock.js";
import type { RootKey } from "../crypto/root-key.js";
import { RootKeys } from "../crypto/root-keys.js";
import type { Config } from "../settings/config.js";
import { requireOneHolder } from "../settings/root-key-holder.js";
import {
  awaitsDistribution,
  type DistributeOptions,
  type Distribution,
  distribute,
  distributionStatements,
} from "../store/cluster/distribute.js";
import { connect, type DatabaseAddress, type Sql } from "../store/connect.js";
import { type Database, openDatabase, splitConnections } from "../store/database.js";
import {
  type EmbeddedDatabase,
  shareEmbeddedDatabase,
  startEmbeddedDatabase,
} from "../store/embedded/embedded-database.js";
import { IMPATIENT, meetDatabase, type Patience } from "../store/first-contact.js";
import { migrate, pendingMigrations } from "../store/migrate.js";
import {
  DatabaseSetupError,
  privilegedRole,
  refuseMightyRole,
  requireRoles,
  requireRolesOrRights,
  withoutPrivileges,
} from "../store/roles.js";
import { listTenantIds } from "../store/tenants.js";
import { Keyring } from "../tenancy/keyring.js";
import { openRootKey } from "./open-root-key.js";
import { sharesOnInput, type Unseal } from "./unsealing.js";

/** How long a server waits for a database that starts up or recovers. */
const START_WAIT_MS = 5 * 60_000;

/** The stored part of Cloakroom, opened: database, schema, root key. */
export interface Vault extends AsyncDisposable {
  readonly database: Database;
  readonly address: DatabaseAddress;
  /** Address for the owner of the tables: for migrations, and for reading across tenants. */
  readonly ownerAddress: DatabaseAddress;
  readonly keyring: Keyring;
  /** The key that wraps new tenants' keys. */
  readonly rootKey: RootKey;
  /** All available root keys. */
  readonly rootKeys: RootKeys;
  /** The embedded database, if it is used. */
  readonly embedded: EmbeddedDatabase | undefined;
  /** The migrations that ran on the embedded database while opening. */
  readonly migrated: readonly string[];
  /** The embedded database has never had a tenant. The row of a deleted tenant remains. */
  readonly isEmpty: boolean;
}

/**
 * The vault's user. `server` owns the embedded database. `command` uses it beside a running server, or starts it for
 * itself, and fails if it does not exist. `setup` is a command that creates a missing one, with its root key.
 */
export type VaultUser = "server" | "command" | "setup";

/** Ends a part of the vault. A server limits the wait for each. */
export type EndVaultPart = (
  part: "the embedded database" | "the database's connections",
  end: () => Promise<unknown>,
) => Promise<void>;

const endWithoutLimit: EndVaultPart = async (_, end) => {
  await end();
};

export interface OpenVaultOptions {
  readonly config: Config;
  readonly as: VaultUser;
  readonly announce: (line: string) => void;
  readonly clock: Clock;
  /** For a command that moves to the configured root key. */
  readonly mayMove?: boolean;
  /** How a split root key is assembled. Default: from shares on the command's standard input. */
  readonly unseal?: Unseal;
  /** How the database ends. Default: without a time limit. */
  readonly endPart?: EndVaultPart;
  /** For one of several processes: the resources that the first one has opened for all. */
  readonly opened?: OpenedForAll;
}

/** The resources that the first of several processes has opened for the others. */
export interface OpenedForAll {
  /** The embedded database. Absent: DATABASE_URL. */
  readonly address: DatabaseAddress | undefined;
  /** Root keys read from a file, or assembled from shares. */
  readonly rootKeys: readonly RootKey[];
}

/**
 * Opens the vault. Sets up the embedded database if needed; a database named by DATABASE_URL must have been prepared by
 * `cloakroom init`.
 * @throws {DatabaseSetupError | KeyFileError | EmbeddedDatabaseError} with a message for the operator.
 */
export async function openVault({
  config,
  as,
  announce,
  clock,
  mayMove = false,
  unseal,
  endPart = endWithoutLimit,
  opened,
}: OpenVaultOptions): Promise<Vault> {
  if (!mayMove) requireOneHolder(config.rootKeyHolder);
  const stack = new AsyncDisposableStack();
  try {
    const embedded = config.databaseUrl || opened?.address ? undefined : await openEmbedded(config, as, announce);
    if (embedded) stack.defer(() => endPart("the embedded database", () => embedded.stop()));
    const { address, ownerAddress } = addressesOf(config, embedded?.connection ?? opened?.address);
    const migrated = embedded ? await migrate(ownerAddress) : [];
    if (!embedded) {
      await meetBoth(address, ownerAddress, as === "server" ? { waitMs: START_WAIT_MS, announce } : IMPATIENT);
      await requireMigrated(ownerAddress);
    }
    await checkRole(address);
    const rootKeys = rootKeysOf(config);
    for (const key of opened?.rootKeys ?? []) rootKeys.hold(key);
    // A command in the wrong directory must not create a second vault with its own root key.
    const mayMake = embedded !== undefined && as !== "command";
    const { rootKey } = await openRootKey({
      rootKeys,
      address: ownerAddress,
      mayMake,
      mayMove,
      announce,
      unseal: unseal ?? sharesOnInput,
    });
    // The operator's own database is not asked: in a cluster, all of its nodes would have to answer.
    const isEmpty = embedded !== undefined && (await hasNoTenant(ownerAddress));
    const database = openDatabase({
      ...{ address, clock },
      ...splitConnections(as === "server" ? config.connections : 3),
    });
    stack.defer(() => endPart("the database's connections", async () => database[Symbol.asyncDispose]()));
    const keyring = new Keyring(database, rootKeys);
    const owned = stack.move();
    return {
      ...{ database, address, ownerAddress, keyring, rootKey, rootKeys, embedded, migrated, isEmpty },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** A database with its schema. Its contents are not verified. */
export interface UnkeyedDatabase extends AsyncDisposable {
  readonly ownerAddress: DatabaseAddress;
  /** The available root keys. None is registered or created here. */
  readonly rootKeys: RootKeys;
}

/** Opens the database for an import, which brings the registered root keys with it. */
export async function openWithoutRootKey(config: Config, announce: (line: string) => void): Promise<UnkeyedDatabase> {
  requireOneHolder(config.rootKeyHolder);
  await using stack = new AsyncDisposableStack();
  const embedded = config.databaseUrl ? undefined : await openEmbedded(config, "setup", announce);
  if (embedded) stack.use(embedded);
  const { address, ownerAddress } = addressesOf(config, embedded?.connection);
  if (embedded) {
    await migrate(ownerAddress);
  } else {
    await meetBoth(address, ownerAddress);
    await requireMigrated(ownerAddress);
  }
  await checkRole(address);
  const owned = stack.move();
  return { ownerAddress, rootKeys: rootKeysOf(config), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Migrates a database named by DATABASE_URL. Returns the names of the migrations that ran. */
export async function migrateVault(config: Config, announce: (line: string) => void): Promise<string[]> {
  const { ownerAddress, address } = addressesOf(config, undefined);
  return migrate(ownerAddress, { logins: await meetBoth(address, ownerAddress), announce });
}

/**
 * Distributes the vault over the cluster that DATABASE_URL's database coordinates.
 * @throws {DatabaseSetupError} as {@link distribute} does.
 */
export async function distributeVault(config: Config, options: DistributeOptions): Promise<Distribution> {
  return distribute(await migratedCoordinator(config), options);
}

/** The statements that {@link distributeVault} would run now. */
export async function vaultDistributionStatements(config: Config, shards?: number): Promise<readonly string[]> {
  return distributionStatements(await migratedCoordinator(config), shards);
}

async function migratedCoordinator(config: Config): Promise<DatabaseAddress> {
  const { ownerAddress, address } = addressesOf(config, undefined);
  await meetBoth(address, ownerAddress);
  await requireMigrated(ownerAddress);
  return ownerAddress;
}

/**
 * Sets up the database, embedded or named by DATABASE_URL: schema, roles, root key. Can be repeated. Returns the root
 * key.
 */
export async function initVault(config: Config, announce: (line: string) => void): Promise<RootKey> {
  requireOneHolder(config.rootKeyHolder);
  if (!config.databaseUrl) {
    await using vault = await openVault({ config, as: "setup", announce, clock: systemClock });
    for (const name of vault.migrated) announce(`Applied migration ${name}`);
    return vault.rootKey;
  }
  const { ownerAddress, address } = addressesOf(config, undefined);
  for (const name of await migrateVault(config, announce)) announce(`Applied migration ${name}`);
  await checkRole(address);
  if (await awaitsDistribution(ownerAddress)) {
    announce("This database coordinates a Citus cluster. Before the first tenant, run: cloakroom cluster distribute");
  }
  for (const { warning } of await privilegedLogins(config)) announce(`Warning: ${warning}`);
  const rootKeys = rootKeysOf(config);
  const { rootKey, isNew } = await openRootKey({
    rootKeys,
    address: ownerAddress,
    mayMake: true,
    announce,
    unseal: sharesOnInput,
  });
  if (!isNew) announce(`The root key ${rootKey.id} is the one of this database.`);
  return rootKey;
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
    const sql = connect({ url: url.reveal() }, { connections: 1, statementTimeout: 10_000 });
    try {
      const role = await privilegedRole(sql);
      if (role === undefined) continue;
      const remedy = await withoutPrivileges(sql, role);
      found.push({
        warning: `${setting} logs in as ${role}, a superuser or a role that bypasses row-level security. Use a login that owns the database and may create roles. Run:\n${remedy}`,
      });
    } finally {
      await sql.end({ timeout: 5 });
    }
  }
  return found;
}

function rootKeysOf({ rootKeyHolder, rootKeyFile }: Config): RootKeys {
  return new RootKeys(rootKeyHolder, rootKeyFile);
}

function addressesOf(
  config: Config,
  embedded: DatabaseAddress | undefined,
): { address: DatabaseAddress; ownerAddress: DatabaseAddress } {
  if (embedded) return { address: embedded, ownerAddress: embedded };
  if (!config.databaseUrl)
    throw new DatabaseSetupError("Set DATABASE_URL to the database that this command is to work on.");
  const address = { url: config.databaseUrl.reveal() };
  return { address, ownerAddress: config.migrateDatabaseUrl ? { url: config.migrateDatabaseUrl.reveal() } : address };
}

async function hasNoTenant(ownerAddress: DatabaseAddress): Promise<boolean> {
  const sql = connect(ownerAddress, { connections: 1, statementTimeout: 10_000 });
  try {
    return (await listTenantIds(sql, undefined)).length === 0;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function openEmbedded(config: Config, as: VaultUser, announce: (line: string) => void): Promise<EmbeddedDatabase> {
  const options = { dataDir: config.dataDir, announce };
  if (as === "server") return startEmbeddedDatabase(options);
  return shareEmbeddedDatabase({ ...options, mayCreate: as === "setup" });
}

/** The logins of both, which may be the same. */
async function meetBoth(
  address: DatabaseAddress,
  ownerAddress: DatabaseAddress,
  patience: Patience = IMPATIENT,
): Promise<string[]> {
  const login = await meetDatabase(address, "DATABASE_URL", patience);
  if (address === ownerAddress) return [login];
  return [login, await meetDatabase(ownerAddress, "MIGRATE_DATABASE_URL", patience)];
}

async function requireMigrated(address: DatabaseAddress): Promise<void> {
  const pending = await pendingMigrations(address);
  if (pending.length === 0) return;
  await withLogin(address, requireRolesOrRights);
  const command = pending.length > 0 && pending[0]?.startsWith("0001") ? "init" : "migrate";
  throw new DatabaseSetupError(`The database lacks ${pending.length} migrations. Run: cloakroom ${command}`);
}

/** Queries as the login itself, not as the role that statements run as. */
async function withLogin(
  address: DatabaseAddress,
  check: (sql: Sql, logins: readonly string[]) => Promise<void>,
): Promise<void> {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  try {
    const [me] = await sql<{ name: string }[]>`select current_user as name`;
    await check(sql, me ? [me.name] : []);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function checkRole(address: DatabaseAddress): Promise<void> {
  await withLogin(address, requireRoles);
  const sql = connect(address, { role: "cloakroom_app", connections: 1, statementTimeout: 10_000 });
  try {
    await refuseMightyRole(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
