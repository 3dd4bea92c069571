import { createKeyFile, hasKeyFile, KeyFileError } from "./crypto/key-file.js";
import { fitsCheckValue, makeCheckValue, type RootKey } from "./crypto/root-key.js";
import type { RootKeys } from "./crypto/root-keys.js";
import { connect, type DatabaseAddress } from "./store/connect.js";
import { underLease } from "./store/lease.js";
import { DatabaseSetupError } from "./store/roles.js";
import { insertRootKey, listRootKeys, type RootKeyRow } from "./store/root-keys.js";
import { sharesOnInput, type Unseal } from "./unsealing.js";

/** A process that dies while it makes the root key keeps others from it for so long. */
const LEASE_SECONDS = 10;

export interface OpenRootKeyOptions {
  readonly rootKeys: RootKeys;
  readonly address: DatabaseAddress;
  /** A key may be made, or taken as it is configured, where the database has none yet. */
  readonly mayMake: boolean;
  /** The root key is about to be replaced: the configured one may be another than the database's. */
  readonly mayMove?: boolean;
  /** Puts a root key together from shares, where it was split and its file is not there. */
  readonly unseal: Unseal;
  readonly announce: (line: string) => void;
}

/**
 * The root key must be the one that the database was made with. One is made only where the database has none yet, so
 * that nothing can have been sealed under another.
 * @throws {KeyFileError | DatabaseSetupError | RootKeyDenied | RootKeyUnreachable} with one line for the operator.
 */
export async function openRootKey(options: OpenRootKeyOptions): Promise<{ rootKey: RootKey; isNew: boolean }> {
  const { rootKeys, address, mayMake, mayMove = false, unseal, announce } = options;
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  try {
    const registered = await listRootKeys(sql);
    if (registered.length > 0)
      return { rootKey: await registeredKey(rootKeys, registered, mayMove, unseal), isNew: false };
    if (!mayMake) throw new DatabaseSetupError("The database has no root key yet. Run: cloakroom init");
    return await underLease(address, "root-key", LEASE_SECONDS, async () => {
      const meanwhile = await listRootKeys(sql);
      if (meanwhile.length > 0)
        return { rootKey: await registeredKey(rootKeys, meanwhile, mayMove, unseal), isNew: false };
      const rootKey = await firstKey(rootKeys, announce);
      await insertRootKey(sql, { id: rootKey.id, check_value: await makeCheckValue(rootKey) });
      return { rootKey, isNew: true };
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * The key that wraps, proven to be the registered one. Those that are being replaced must be at hand too: some tenants'
 * keys still need them.
 * @throws {KeyFileError} with one line for the operator.
 */
export async function registeredKey(
  rootKeys: RootKeys,
  registered: readonly RootKeyRow[],
  mayMove = false,
  unseal: Unseal = sharesOnInput,
): Promise<RootKey> {
  await unsealIfSplit(rootKeys, registered, unseal);
  const configured = rootKeys.held ?? (await rootKeys.current());
  for (const row of registered.filter(({ retired_at }) => retired_at !== null)) {
    const retired = await rootKeys.find(row.id);
    if (!retired || !(await fitsCheckValue(retired, row.check_value))) {
      throw new KeyFileError(
        `The root key ${row.id} still wraps keys of tenants and is not at hand. Put its line back into ${placeOf(rootKeys)}, then run: cloakroom keys rotate --root`,
      );
    }
  }
  const row = registered.find(({ retired_at }) => retired_at === null);
  // A file may hold a newer key already, which a rotation that was cut off has put there.
  const mayBeElsewhere = mayMove || rootKeys.holder.kind === "file";
  const found = row && (mayBeElsewhere ? await rootKeys.find(row.id) : configured);
  if (found && found.id === row.id && (await fitsCheckValue(found, row.check_value))) return found;
  throw wrongKey(rootKeys, registered);
}

/** A root key that was split need not lie anywhere: its shares are asked for. One that was not split is lost. */
async function unsealIfSplit(rootKeys: RootKeys, registered: readonly RootKeyRow[], unseal: Unseal): Promise<void> {
  const row = registered.find(({ retired_at }) => retired_at === null);
  const { holder } = rootKeys;
  if (holder.kind !== "file" || !row || row.threshold === null || (await hasKeyFile(holder.path))) return;
  const { id, threshold, check_value } = row;
  rootKeys.hold(await unseal({ id, threshold, fits: (key) => fitsCheckValue(key, check_value) }));
}

function wrongKey({ holder }: RootKeys, registered: readonly RootKeyRow[]): KeyFileError {
  const needed = registered
    .filter(({ retired_at }) => retired_at === null)
    .map(({ id }) => id)
    .join(", ");
  if (holder.kind === "file") {
    return new KeyFileError(
      `The root key ${holder.path} is not the one this database was made with (it needs ${needed}). Restore the right one from your backup, or name its place in CLOAKROOM_ROOT_KEY_FILE.`,
    );
  }
  const setting = holder.kind === "transit" ? "CLOAKROOM_TRANSIT_URL" : "CLOAKROOM_KMS_KEY_ID";
  return new KeyFileError(
    `The root key that ${setting} names is not the one this database was made with (it needs ${needed}). Correct ${setting}, or move to this key with: cloakroom keys rotate --root`,
  );
}

function placeOf({ holder }: RootKeys): string {
  return holder.kind === "file" ? holder.path : "CLOAKROOM_ROOT_KEY_FILE";
}

/** A key file is made where there is none; a key that a service holds is made there, by whoever runs it. */
async function firstKey(rootKeys: RootKeys, announce: (line: string) => void): Promise<RootKey> {
  const { holder } = rootKeys;
  if (holder.kind === "file" && !(await hasKeyFile(holder.path))) {
    await createKeyFile(holder.path);
    announce(`Made the root key ${holder.path}. Back it up: without it nothing stored can ever be read.`);
  }
  return rootKeys.current();
}
