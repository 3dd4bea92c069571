import { OPERATOR_CONTEXT } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import { type TenantId, VAULT_TENANT_ID } from "../base/ids.js";
import { exists } from "../base/whole-file.js";
import { addToKeyFile, moveOutOfKeyFile } from "../crypto/key-file.js";
import { createCheckValue, type RootKey, RootKeyDenied, RootKeyRefused } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import { rewrapTenantKey } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Database } from "../store/database.js";
import type { Sql } from "../store/postgres/connect.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import { deleteReplacedRootKey, listRootKeys, replaceRootKeys } from "../store/tenancy/root-keys.js";
import {
  listTenantKeys,
  type Rewrapping,
  rewrapTenantKeyRow,
  type TenantKeyRow,
} from "../store/tenancy/tenant-keys.js";
import { listTenantIds } from "../store/tenancy/tenants.js";
import { readWrappedKey } from "./keyring.js";

export interface RootRotationParts {
  readonly database: Database;
  /** Connection as the owner of the tables: only the owner may change the list of root keys. */
  readonly owner: Sql;
  readonly rootKeys: RootKeys;
  readonly say: (line: string) => void;
}

/**
 * A tenant key that does not open under the root key that it names: it stays as it is, and still needs that root key.
 */
export interface BrokenKey {
  readonly tenantId: TenantId;
  readonly purpose: string;
  readonly version: number;
  readonly rootKeyId: string;
}

export interface RootRotation {
  /** The root key that wraps from now on. */
  readonly rootKey: RootKey;
  readonly rewrapped: number;
  readonly broken: readonly BrokenKey[];
}

/**
 * Rotates the root key: wraps the keys of all tenants under a new one, and removes the replaced one when it wraps nothing
 * any more. Can be interrupted anywhere and repeated by any operator who still has the old root key, as a file or as
 * shares. The tenants' sealed data stays unchanged. Only one process does it at a time.
 * @param wrapping the root key that wraps now.
 * @throws {RootKeyDenied} if the holder cannot create a key.
 */
export async function rotateRootKey(parts: RootRotationParts, wrapping: RootKey): Promise<RootRotation> {
  const { owner, say } = parts;
  const registered = await listRootKeys(owner);
  if (!registered.some(({ id, retired_at }) => id === wrapping.id && retired_at === null)) {
    throw new DatabaseSetupError("Another process has replaced the root key meanwhile.");
  }
  const wasInterrupted = registered.some(({ retired_at }) => retired_at !== null);
  if (wasInterrupted)
    say("An earlier rotation of the root key was interrupted: it is completed first, and no new key is made.");
  const rootKey = wasInterrupted ? wrapping : await newRootKey(parts, wrapping);
  const checkValue = await createCheckValue(rootKey);
  await replaceRootKeys(owner, { id: rootKey.id, check_value: checkValue });
  let rewrapped = 0;
  for (;;) {
    const pass = await rewrapAll(parts, rootKey, rootKey.generationOf(checkValue));
    rewrapped += pass.rewrapped;
    if (pass.rewrapped > 0) {
      say(`Wrapped ${rewrapped} keys of tenants under the root key ${rootKey.id}.`);
      // Another pass: a tenant may have been created meanwhile.
      continue;
    }
    await removeReplaced(parts, pass.broken);
    return { rootKey, rewrapped, broken: pass.broken };
  }
}

/**
 * If the configured key is the one that wraps, creates a new key if the holder can. Otherwise moves to the configured
 * key.
 */
async function newRootKey({ rootKeys, say }: RootRotationParts, wrapping: RootKey): Promise<RootKey> {
  const { holder } = rootKeys;
  // A root key kept only in shares has no file. The new key's file is the first.
  const configured = holder.kind === "file" && !(await exists(holder.path)) ? wrapping : await rootKeys.current();
  if (configured.id !== wrapping.id) {
    if (holder.kind === "file") say(`${holder.path} holds the root key ${configured.id}, which replaces the other.`);
    return configured;
  }
  if (holder.kind === "file") {
    const added = await addToKeyFile(holder.path);
    rootKeys.hold(added);
    return added;
  }
  if (!configured.renew) {
    throw new RootKeyDenied(
      `The root key ${wrapping.id} is renewed where it is held, and not from here: on schedule or on demand. To replace it by another key, name that one in CLOAKROOM_KMS_KEY_ID and run this again.`,
    );
  }
  await configured.renew();
  return configured;
}

interface RewrapPass {
  readonly rewrapped: number;
  readonly broken: readonly BrokenKey[];
}

async function rewrapAll(parts: RootRotationParts, rootKey: RootKey, generation: number): Promise<RewrapPass> {
  let rewrapped = 0;
  const broken: BrokenKey[] = [];
  const rewrapAllOf = async (tenantId: TenantId) => {
    const done = await rewrapTenant(parts, rootKey, generation, tenantId);
    rewrapped += done.rewrapped;
    broken.push(...done.broken);
  };
  await rewrapAllOf(VAULT_TENANT_ID);
  let after: TenantId | undefined;
  for (;;) {
    const tenants = await listTenantIds(parts.owner, after);
    for (const tenantId of tenants) await rewrapAllOf(tenantId);
    after = tenants.at(-1);
    if (after === undefined) return { rewrapped, broken };
  }
}

async function rewrapTenant(
  { database, rootKeys }: RootRotationParts,
  rootKey: RootKey,
  generation: number,
  tenantId: TenantId,
): Promise<RewrapPass> {
  const rows = await database.of(tenantId).shared((tx) => tx.query(listTenantKeys, tenantId));
  const stale = rows.filter((row) => row.root_key_id !== rootKey.id || rootKey.generationOf(row.wrapped) < generation);
  const results = await Promise.all(stale.map((row) => rewrap(rootKeys, rootKey, tenantId, row)));
  const rewrapped = results.filter((result) => "to" in result);
  if (rewrapped.length > 0) {
    await database.of(tenantId).ordinary(async (tx) => {
      for (const row of rewrapped) tx.enqueue(rewrapTenantKeyRow, row);
      const details = { remark: "root key replaced", context: OPERATOR_CONTEXT };
      if (tenantId !== VAULT_TENANT_ID) writeLog(tx, logEntry("tenant", tenantId, "update", details));
    });
  }
  return { rewrapped: rewrapped.length, broken: results.filter((result) => "rootKeyId" in result) };
}

/** A key that does not open must not keep the keys of all other tenants under a root key that is to be destroyed. */
async function rewrap(
  rootKeys: RootKeys,
  to: RootKey,
  tenantId: TenantId,
  row: TenantKeyRow,
): Promise<Rewrapping | BrokenKey> {
  const { purpose, version, root_key_id: rootKeyId } = row;
  const broken = { tenantId, purpose, version, rootKeyId };
  if (!(await rootKeys.findAnywhere(rootKeyId))) return broken;
  try {
    const wrapped = await rewrapTenantKey(rootKeys, to, tenantId, readWrappedKey(row));
    return { purpose, version, from: row.wrapped, to: wrapped, root_key_id: to.id };
  } catch (error) {
    if (error instanceof RootKeyRefused) return broken;
    throw error;
  }
}

async function removeReplaced(
  { owner, rootKeys, say }: RootRotationParts,
  broken: readonly BrokenKey[],
): Promise<void> {
  const { holder } = rootKeys;
  for (const { id, retired_at, threshold } of await listRootKeys(owner)) {
    if (retired_at === null) continue;
    if (broken.some(({ rootKeyId }) => rootKeyId === id)) {
      say(`The old root key ${id} stays: keys of tenants that it wraps do not open.`);
      continue;
    }
    const movedTo = holder.kind === "file" ? await moveOutOfKeyFile(holder.path, id) : undefined;
    await deleteReplacedRootKey(owner, id);
    say(
      movedTo
        ? `The old root key ${id} was moved to ${movedTo}. Backups of the database from before need it: keep it with them, and delete it here.`
        : `The old root key ${id} wraps nothing any more. Backups of the database from before need it.`,
    );
    if (threshold !== null && holder.kind === "file") {
      say(
        `The old one was kept in shares. The new one lies in ${holder.path}: split it too (cloakroom keys split), and take the file away.`,
      );
    }
  }
}
