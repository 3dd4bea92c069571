import { access } from "node:fs/promises";
import type { Clock } from "./base/clock.js";
import type { Config } from "./config.js";
import { createKeyFile, KeyFileError, readKeyFile } from "./crypto/key-file.js";
import { fitsCheckValue, makeCheckValue, type RootKey } from "./crypto/root-key.js";
import { connect, type DatabaseAddress } from "./store/connect.js";
import { type Database, openDatabase } from "./store/database.js";
import { type EmbeddedDatabase, startEmbeddedDatabase } from "./store/embedded/embedded-database.js";
import { visitEmbeddedDatabase } from "./store/embedded/visit.js";
import { migrate, pendingMigrations } from "./store/migrate.js";
import { DatabaseSetupError, refuseMightyRole } from "./store/roles.js";
import { insertRootKey, listRootKeys } from "./store/root-keys.js";
import { Keyring } from "./tenancy/keyring.js";

/** The stored half of Cloakroom, open: database, schema, root key. */
export interface Vault extends AsyncDisposable {
  readonly database: Database;
  readonly address: DatabaseAddress;
  /** Whoever owns the tables: for migrations, and for looking over all tenants. */
  readonly ownerAddress: DatabaseAddress;
  readonly keyring: Keyring;
  /** The key that new tenants' keys are wrapped by. */
  readonly rootKey: RootKey;
  /** The embedded database, where that is used. */
  readonly embedded: EmbeddedDatabase | undefined;
  /** The root key was registered in this start: nothing can have been stored before. */
  readonly isNew: boolean;
}

export interface OpenVaultOptions {
  readonly config: Config;
  /** `serve` owns the embedded database; a command uses it beside a running server, or starts it for itself. */
  readonly as: "server" | "command";
  readonly announce: (line: string) => void;
  readonly clock: Clock;
}

/**
 * Opens the vault. The embedded database is set up as needed; one that DATABASE_URL names is only ever used as
 * `cloakroom init` left it.
 * @throws {DatabaseSetupError | KeyFileError | EmbeddedDatabaseError} with a message for the operator.
 */
export async function openVault({ config, as, announce, clock }: OpenVaultOptions): Promise<Vault> {
  const stack = new AsyncDisposableStack();
  try {
    const embedded = config.databaseUrl ? undefined : await openEmbedded(config, as, announce);
    if (embedded) stack.use(embedded);
    const { address, ownerAddress } = addressesOf(config, embedded);
    if (embedded) {
      await migrate(ownerAddress);
    } else {
      await requireMigrated(ownerAddress);
    }
    await checkRole(address);
    const { rootKey, isNew } = await openRootKey(config, ownerAddress, embedded !== undefined, announce);
    const database = stack.use(
      openDatabase({
        address,
        fastConnections: as === "server" ? config.fastConnections : 1,
        slowConnections: as === "server" ? config.slowConnections : 1,
        clock,
      }),
    );
    const keyring = new Keyring(database, new Map([[rootKey.id, rootKey]]));
    const owned = stack.move();
    return {
      ...{ database, address, ownerAddress, keyring, rootKey, embedded, isNew },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Sets up a database that DATABASE_URL names: schema, roles, root key. Can be run again. */
export async function initVault(config: Config, announce: (line: string) => void): Promise<void> {
  const { ownerAddress, address } = addressesOf(config, undefined);
  const logins = [loginOf(address), loginOf(ownerAddress)].flatMap((login) => login ?? []);
  for (const name of await migrate(ownerAddress, logins)) announce(`Applied migration ${name}`);
  await checkRole(address);
  const { rootKey, isNew } = await openRootKey(config, ownerAddress, true, announce);
  if (!isNew) announce(`The root key ${rootKey.id} is the one of this database.`);
}

export function addressesOf(
  config: Config,
  embedded: EmbeddedDatabase | undefined,
): { address: DatabaseAddress; ownerAddress: DatabaseAddress } {
  if (embedded) return { address: embedded.connection, ownerAddress: embedded.connection };
  if (!config.databaseUrl)
    throw new DatabaseSetupError("Set DATABASE_URL to the database that this command is to work on.");
  const address = { url: config.databaseUrl.reveal() };
  return { address, ownerAddress: config.migrateDatabaseUrl ? { url: config.migrateDatabaseUrl.reveal() } : address };
}

function openEmbedded(
  config: Config,
  as: OpenVaultOptions["as"],
  announce: (line: string) => void,
): Promise<EmbeddedDatabase> {
  const options = { dataDir: config.dataDir, announce };
  return as === "server" ? startEmbeddedDatabase(options) : visitEmbeddedDatabase(options);
}

async function requireMigrated(address: DatabaseAddress): Promise<void> {
  const pending = await pendingMigrations(address);
  if (pending.length === 0) return;
  const command = pending.length > 0 && pending[0]?.startsWith("0001") ? "init" : "migrate";
  throw new DatabaseSetupError(`The database lacks ${pending.length} migrations. Run: cloakroom ${command}`);
}

async function checkRole(address: DatabaseAddress): Promise<void> {
  const sql = connect(address, { role: "cloakroom_app", connections: 1, statementTimeout: 10_000 });
  try {
    await refuseMightyRole(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * The root key must be the one that the database was made with. One is made only where the database has none yet, so
 * that nothing can have been sealed under another.
 */
async function openRootKey(
  config: Config,
  address: DatabaseAddress,
  mayMake: boolean,
  announce: (line: string) => void,
): Promise<{ rootKey: RootKey; isNew: boolean }> {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  try {
    const registered = await listRootKeys(sql);
    if (registered.length > 0) {
      const rootKey = await readKeyFile(config.rootKeyFile);
      const row = registered.find(({ id }) => id === rootKey.id);
      if (!row || !(await fitsCheckValue(rootKey, row.check_value))) {
        throw new KeyFileError(
          `The root key ${config.rootKeyFile} is not the one this database was made with (it needs ${registered.map(({ id }) => id).join(", ")}). Restore the right one from your backup, or name its place in CLOAKROOM_ROOT_KEY_FILE.`,
        );
      }
      return { rootKey, isNew: false };
    }
    if (!mayMake) throw new DatabaseSetupError("The database has no root key yet. Run: cloakroom init");
    const rootKey = (await exists(config.rootKeyFile))
      ? await readKeyFile(config.rootKeyFile)
      : await makeRootKey(config, announce);
    await insertRootKey(sql, { id: rootKey.id, check_value: await makeCheckValue(rootKey) });
    return { rootKey, isNew: true };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function makeRootKey(config: Config, announce: (line: string) => void): Promise<RootKey> {
  const rootKey = await createKeyFile(config.rootKeyFile);
  announce(`Made the root key ${config.rootKeyFile}. Back it up: without it nothing stored can ever be read.`);
  return rootKey;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function loginOf(address: DatabaseAddress): string | undefined {
  return "url" in address ? decodeURIComponent(new URL(address.url).username) || undefined : address.username;
}
