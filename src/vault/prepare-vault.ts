import { systemClock } from "../base/clock.js";
import type { RootKey } from "../crypto/root-key.js";
import type { Config } from "../settings/config.js";
import { requireOneHolder } from "../settings/root-key-holder.js";
import {
  awaitsDistribution,
  type DistributeOptions,
  type Distribution,
  distribute,
  distributionStatements,
} from "../store/cluster/distribute.js";
import { migrate } from "../store/migrate.js";
import type { DatabaseAddress } from "../store/postgres/connect.js";
import { awaitBoth, checkRole, databaseAddresses, privilegedLogins, requireMigrated } from "./configured-database.js";
import { openRootKey } from "./open-root-key.js";
import { sharesOnInput } from "./unsealing.js";
import { configuredRootKeys, openVault } from "./vault.js";

/** Migrates a database named by DATABASE_URL. Returns the names of the migrations that ran. */
export async function migrateVault(config: Config, announce: (line: string) => void): Promise<string[]> {
  const { ownerAddress, address } = databaseAddresses(config, undefined);
  return migrate(ownerAddress, { logins: await awaitBoth(address, ownerAddress), announce });
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

/** The database that coordinates the cluster, as the owner of the tables. */
export async function migratedCoordinator(config: Config): Promise<DatabaseAddress> {
  const { ownerAddress, address } = databaseAddresses(config, undefined);
  await awaitBoth(address, ownerAddress);
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
  const { ownerAddress, address } = databaseAddresses(config, undefined);
  for (const name of await migrateVault(config, announce)) announce(`Applied migration ${name}`);
  await checkRole(address);
  if (await awaitsDistribution(ownerAddress)) {
    announce("This database coordinates a Citus cluster. Before the first tenant, run: cloakroom cluster distribute");
  }
  for (const { warning } of await privilegedLogins(config)) announce(`Warning: ${warning}`);
  const rootKeys = configuredRootKeys(config);
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
