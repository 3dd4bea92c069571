import { exists } from "../base/whole-file.js";
import { createKeyFile, isFileKeyId, KeyFileError } from "../crypto/key-file.js";
import { createCheckValue, matchesCheckValue, type RootKey } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import { withLease } from "../store/jobs/lease.js";
import { type DatabaseAddress, soleConnection } from "../store/postgres/connect.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import { insertRootKey, listRootKeys, type RootKeyRow } from "../store/tenancy/root-keys.js";
import type { KeyInShares, Unseal } from "./unsealing.js";

/** If a process dies while it creates the root key, the lease blocks others for this long. */
const LEASE_SECONDS = 10;

export interface RootKeySearch {
  readonly rootKeys: RootKeys;
  /** The root key is about to be replaced: the configured key may differ from the database's. */
  readonly mayMove?: boolean;
  /** The registration may predate the split of the root key: shares are requested if its file is missing. */
  readonly mayBeSplit?: boolean;
  /** Assembles root keys from shares, if they were split and are not in a file. */
  readonly unseal: Unseal;
}

export interface OpenRootKeyOptions extends RootKeySearch {
  readonly address: DatabaseAddress;
  /** Allows creating a key, or adopting the configured one, if the database has no key yet. */
  readonly mayMake: boolean;
  readonly announce: (line: string) => void;
}

/**
 * Opens the root key, which must be the one that the database was created with. Creates one only if the database has no
 * key yet, when nothing can have been sealed under another.
 * @throws {KeyFileError | DatabaseSetupError | RootKeyDenied | RootKeyUnreachable} with one line for the operator.
 */
export async function openRootKey(options: OpenRootKeyOptions): Promise<{ rootKey: RootKey; isNew: boolean }> {
  const { rootKeys, address, mayMake, announce } = options;
  await using sql = soleConnection(address);
  const registered = await listRootKeys(sql);
  if (registered.length > 0) return { rootKey: await registeredKey(registered, options), isNew: false };
  if (!mayMake) throw new DatabaseSetupError("The database has no root key yet. Run: cloakroom init");
  return await withLease(address, "root-key", LEASE_SECONDS, async () => {
    const meanwhile = await listRootKeys(sql);
    if (meanwhile.length > 0) return { rootKey: await registeredKey(meanwhile, options), isNew: false };
    const rootKey = await firstKey(rootKeys, announce);
    await insertRootKey(sql, { id: rootKey.id, check_value: await createCheckValue(rootKey) });
    return { rootKey, isNew: true };
  });
}

/**
 * The key that wraps, verified to be the registered one. Keys being replaced must be available too: some tenants' keys
 * still need them.
 * @throws {KeyFileError} with one line for the operator.
 */
export async function registeredKey(registered: readonly RootKeyRow[], search: RootKeySearch): Promise<RootKey> {
  const { rootKeys, mayMove = false } = search;
  await unsealSplit(registered, search);
  const row = registered.find(isWrapping);
  // A file may already contain a newer key from an interrupted rotation.
  const mayBeElsewhere = mayMove || rootKeys.holder.kind === "file";
  const sought = row && mayBeElsewhere ? await rootKeys.find(row.id) : undefined;
  // Explains the file's problem, if that is why the key was not found.
  const found = sought ?? (await rootKeys.current());
  for (const replaced of registered.filter((each) => !isWrapping(each))) {
    const key = await rootKeys.findAnywhere(replaced.id);
    if (!key || !(await matchesCheckValue(key, replaced.check_value))) throw replacedMissing(rootKeys, replaced.id);
  }
  if (row && found.id === row.id && (await matchesCheckValue(found, row.check_value))) return found;
  throw wrongKey(rootKeys, row?.id ?? "another", mayMove);
}

/** Split root keys need not be in a file: their shares are requested. Other missing keys are lost. */
async function unsealSplit(registered: readonly RootKeyRow[], search: RootKeySearch): Promise<void> {
  const { rootKeys, mayMove = false, mayBeSplit = false, unseal } = search;
  const { holder } = rootKeys;
  const takesAny = mayBeSplit && holder.kind === "file" && !(await exists(holder.path));
  const missing: KeyInShares[] = [];
  for (const row of registered) {
    const isSplit = row.threshold !== null || (takesAny && isFileKeyId(row.id));
    // A server whose settings name a service must use it: with another root key it is refused, not unsealed.
    const isUsed = holder.kind === "file" || mayMove || !isWrapping(row);
    if (!isSplit || !isUsed) continue;
    if (await (isWrapping(row) ? rootKeys.find(row.id) : rootKeys.findAnywhere(row.id))) continue;
    const { id, threshold, check_value } = row;
    missing.push({
      id,
      threshold: threshold ?? undefined,
      isReplaced: !isWrapping(row),
      fits: (key) => matchesCheckValue(key, check_value),
    });
  }
  if (missing.length === 0) return;
  for (const { key } of await unseal(missing)) rootKeys.hold(key);
}

function isWrapping({ retired_at }: RootKeyRow): boolean {
  return retired_at === null;
}

const TRANSIT_BESIDE = "CLOAKROOM_TRANSIT_URL and its credentials beside CLOAKROOM_KMS_KEY_ID";

function replacedMissing({ holder }: RootKeys, id: string): KeyFileError {
  const origin = holder.kind === "file" ? holder.path : "CLOAKROOM_ROOT_KEY_FILE";
  const remedy = isFileKeyId(id) ? `Put its line back into ${origin}` : `Set ${TRANSIT_BESIDE}`;
  return new KeyFileError(
    `The root key ${id} still wraps keys of tenants and is not configured. ${remedy}, then run: cloakroom keys rotate --root`,
  );
}

function wrongKey({ holder }: RootKeys, needed: string, mayMove: boolean): KeyFileError {
  if (holder.kind === "file") {
    const remedy = isFileKeyId(needed)
      ? "Restore the right one from your backup, or name its place in CLOAKROOM_ROOT_KEY_FILE."
      : `Set ${needed.startsWith("kms:") ? "CLOAKROOM_KMS_KEY_ID" : "CLOAKROOM_TRANSIT_URL"} to that key.`;
    return new KeyFileError(
      `The root key ${holder.path} is not the one this database was made with (it needs ${needed}). ${remedy}`,
    );
  }
  const setting = holder.kind === "transit" ? "CLOAKROOM_TRANSIT_URL" : "CLOAKROOM_KMS_KEY_ID";
  const wrong = `The root key that ${setting} names is not the one this database was made with (it needs ${needed}).`;
  const fromTransit = holder.kind === "kms" && needed.startsWith("transit:");
  if (!mayMove) {
    const how = fromTransit ? `, with ${TRANSIT_BESIDE}` : "";
    return new KeyFileError(
      `${wrong} Correct ${setting}, or move to this key with: cloakroom keys rotate --root${how}`,
    );
  }
  const remedy = fromTransit
    ? `Set ${TRANSIT_BESIDE}, and correct them where they are set.`
    : isFileKeyId(needed)
      ? "Name the place of that one in CLOAKROOM_ROOT_KEY_FILE."
      : `Correct ${setting}.`;
  return new KeyFileError(`${wrong} To move to another key takes the present one too. ${remedy}`);
}

/** Creates a missing key file. An operator creates a key in a service. */
async function firstKey(rootKeys: RootKeys, announce: (line: string) => void): Promise<RootKey> {
  const { holder } = rootKeys;
  if (holder.kind === "file" && !(await exists(holder.path))) {
    await createKeyFile(holder.path);
    announce(`Made the root key ${holder.path}. Back it up: without it nothing stored can ever be read.`);
  }
  return rootKeys.current();
}
