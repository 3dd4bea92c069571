import { access } from "node:fs/promises";
import type { Config } from "./config.js";
import { createKeyFile, KeyFileError, readKeyFile } from "./crypto/key-file.js";
import { fitsCheckValue, makeCheckValue, type RootKey } from "./crypto/root-key.js";
import { connect, type DatabaseAddress } from "./store/connect.js";
import { underLease } from "./store/lease.js";
import { DatabaseSetupError } from "./store/roles.js";
import { insertRootKey, listRootKeys, type RootKeyRow } from "./store/root-keys.js";

/** A process that dies while it makes the root key keeps others from it for so long. */
const LEASE_SECONDS = 10;

/**
 * The root key must be the one that the database was made with. One is made only where the database has none yet, so
 * that nothing can have been sealed under another.
 */
export async function openRootKey(
  config: Config,
  address: DatabaseAddress,
  mayMake: boolean,
  announce: (line: string) => void,
): Promise<{ rootKey: RootKey; isNew: boolean }> {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  try {
    const registered = await listRootKeys(sql);
    if (registered.length > 0) return { rootKey: await registeredKey(config, registered), isNew: false };
    if (!mayMake) throw new DatabaseSetupError("The database has no root key yet. Run: cloakroom init");
    return await underLease(address, "root-key", LEASE_SECONDS, async () => {
      const meanwhile = await listRootKeys(sql);
      if (meanwhile.length > 0) return { rootKey: await registeredKey(config, meanwhile), isNew: false };
      const rootKey = (await exists(config.rootKeyFile))
        ? await readKeyFile(config.rootKeyFile)
        : await makeRootKey(config, announce);
      await insertRootKey(sql, { id: rootKey.id, check_value: await makeCheckValue(rootKey) });
      return { rootKey, isNew: true };
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function registeredKey({ rootKeyFile }: Config, registered: readonly RootKeyRow[]): Promise<RootKey> {
  const rootKey = await readKeyFile(rootKeyFile);
  const row = registered.find(({ id }) => id === rootKey.id);
  if (row && (await fitsCheckValue(rootKey, row.check_value))) return rootKey;
  const needed = registered.map(({ id }) => id).join(", ");
  throw new KeyFileError(
    `The root key ${rootKeyFile} is not the one this database was made with (it needs ${needed}). Restore the right one from your backup, or name its place in CLOAKROOM_ROOT_KEY_FILE.`,
  );
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
