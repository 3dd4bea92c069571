import type { Clock } from "../base/clock.js";
import type { RootKey } from "../crypto/root-key.js";
import { RootKeys } from "../crypto/root-keys.js";
import type { Config } from "../settings/config.js";
import { requireOneHolder } from "../settings/root-key-holder.js";
import { type Database, openDatabase, splitConnections } from "../store/database.js";
import type { EmbeddedDatabase } from "../store/embedded/embedded-database.js";
import { migrate } from "../store/migrate.js";
import { NO_WAIT } from "../store/postgres/await-database.js";
import type { DatabaseAddress } from "../store/postgres/connect.js";
import { Keyring } from "../tenancy/keyring.js";
import { Tenants } from "../tenancy/tenants.js";
import {
  awaitBoth,
  checkRole,
  databaseAddresses,
  hasNoSchema,
  hasNoTenant,
  openEmbedded,
  requireMigrated,
  type VaultUser,
} from "./configured-database.js";
import { openRootKey } from "./open-root-key.js";
import { sharesOnInput, type Unseal } from "./unsealing.js";

/** How long a server waits for a database that starts up or recovers. */
const START_WAIT_MS = 5 * 60_000;

/** How long an embedded database waits for a process that was killed while it migrated: all of them run here. */
const MIGRATION_LEASE = { leaseSeconds: 10 };

/** The stored part of Cloakroom, opened: database, schema, root key. */
export interface Vault extends AsyncDisposable {
  readonly database: Database;
  readonly address: DatabaseAddress;
  /** Address for the owner of the tables: for migrations, and for reading across tenants. */
  readonly ownerAddress: DatabaseAddress;
  readonly keyring: Keyring;
  readonly tenants: Tenants;
  /** The key that wraps new tenants' keys. */
  readonly rootKey: RootKey;
  readonly rootKeys: RootKeys;
  readonly embedded: EmbeddedDatabase | undefined;
  readonly migrated: readonly string[];
  /** The embedded database has never had a tenant. The row of a deleted tenant remains. */
  readonly isEmpty: boolean;
}

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
  readonly opened?: SharedResources;
}

/** The resources that the first of several processes has opened for the others. */
export interface SharedResources {
  /** The embedded database. Absent: DATABASE_URL. */
  readonly address: DatabaseAddress | undefined;
  /** Root keys read from a file, or assembled from shares. */
  readonly rootKeys: readonly RootKey[];
}

/**
 * Sets up the embedded database if needed; a database named by DATABASE_URL must have been prepared by `cloakroom
 * init`.
 * @throws {DatabaseSetupError | KeyFileError | EmbeddedDatabaseError | RootKeyDenied | RootKeyUnreachable} with a
 * message for the operator.
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
    const { address, ownerAddress } = databaseAddresses(config, embedded?.connection ?? opened?.address);
    const migrated = embedded ? await migrate(ownerAddress, MIGRATION_LEASE) : [];
    if (!embedded) {
      await awaitBoth(address, ownerAddress, as === "server" ? { waitMs: START_WAIT_MS, announce } : NO_WAIT);
      await requireMigrated(ownerAddress);
    }
    await checkRole(address);
    const rootKeys = configuredRootKeys(config);
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
    // The operator's own database is not asked: in a cluster, all of its nodes would have to respond.
    const isEmpty = embedded !== undefined && (await hasNoTenant(ownerAddress));
    const connections = splitConnections(as === "server" ? config.connections : 3);
    const database = openDatabase({ address, clock, ...connections });
    stack.defer(() => endPart("the database's connections", async () => database[Symbol.asyncDispose]()));
    const keyring = new Keyring(database, rootKeys);
    const owned = stack.move();
    return {
      database,
      address,
      ownerAddress,
      keyring,
      tenants: new Tenants(database, keyring),
      rootKey,
      rootKeys,
      embedded,
      migrated,
      isEmpty,
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

export interface UnverifiedDatabase extends AsyncDisposable {
  readonly ownerAddress: DatabaseAddress;
  /** The roles that act as the application, besides the one that migrates. */
  readonly logins: readonly string[];
  /** The available root keys. None is registered or created here. */
  readonly rootKeys: RootKeys;
}

/**
 * Opens the database for an import, which brings the registered root keys with it.
 * @param migrations of the export. A database without a schema gets these.
 */
export async function openForImport(
  config: Config,
  migrations: readonly string[],
  announce: (line: string) => void,
): Promise<UnverifiedDatabase> {
  requireOneHolder(config.rootKeyHolder);
  await using stack = new AsyncDisposableStack();
  const embedded = config.databaseUrl ? undefined : await openEmbedded(config, "setup", announce);
  if (embedded) stack.use(embedded);
  const { address, ownerAddress } = databaseAddresses(config, embedded?.connection);
  const logins = embedded ? [] : await awaitBoth(address, ownerAddress);
  if (embedded || (await hasNoSchema(ownerAddress))) {
    await migrate(ownerAddress, { ...(embedded ? MIGRATION_LEASE : {}), logins, only: migrations });
  }
  await checkRole(address);
  const owned = stack.move();
  return {
    ownerAddress,
    logins,
    rootKeys: configuredRootKeys(config),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The available root keys: none is registered or created here. */
export function configuredRootKeys({ rootKeyHolder, rootKeyFile }: Config): RootKeys {
  return new RootKeys(rootKeyHolder, rootKeyFile);
}
