import type { TenantId } from "../base/ids.js";
import { addToKeyFile, retireFromKeyFile } from "../crypto/key-file.js";
import { makeCheckValue, type RootKey } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import { rewrapTenantKey } from "../crypto/tenant-keys.js";
import type { Sql } from "../store/connect.js";
import type { Database } from "../store/database.js";
import { forgetRootKey, listRootKeys, supersedeRootKeys } from "../store/root-keys.js";
import { listTenantKeys, rewrapTenantKeyRow } from "../store/tenant-keys.js";
import { listTenantIds } from "../store/tenants.js";
import { wrappedKeyOf } from "./keyring.js";

export interface RootRotationParts {
  readonly database: Database;
  /** As whoever owns the tables: only that may change the list of root keys. */
  readonly owner: Sql;
  readonly rootKeys: RootKeys;
  readonly say: (line: string) => void;
}

/**
 * Replaces the root key: wraps the keys of all tenants by the new one, and retires the old one when nothing is wrapped by it
 * any more. Can be cut off anywhere and run again. What tenants have sealed stays as it is.
 * @param wrapping the root key that wraps now.
 * @returns the root key that wraps from now on, and how many tenant keys were wrapped anew.
 */
export async function rotateRootKey(
  parts: RootRotationParts,
  wrapping: RootKey,
): Promise<{ readonly rootKey: RootKey; readonly rewrapped: number }> {
  const { owner, rootKeys, say } = parts;
  const isUnderWay = (await listRootKeys(owner)).some(({ retired_at }) => retired_at !== null);
  if (isUnderWay) say(`An earlier rotation of the root key is under way: it is ended first.`);
  const rootKey = isUnderWay ? wrapping : await newRootKey(rootKeys, wrapping);
  const checkValue = await makeCheckValue(rootKey);
  await supersedeRootKeys(owner, { id: rootKey.id, check_value: checkValue });
  let rewrapped = 0;
  for (;;) {
    const done = await rewrapAll(parts, rootKey, rootKey.generationOf(checkValue));
    rewrapped += done;
    // Another pass: a tenant may have been made meanwhile.
    if (done === 0) break;
    say(`Wrapped ${rewrapped} keys of tenants by the root key ${rootKey.id}.`);
  }
  for (const { id, retired_at } of await listRootKeys(owner)) {
    if (retired_at === null) continue;
    const place = rootKeys.holder.kind === "file" ? await retireFromKeyFile(rootKeys.holder.path, id) : undefined;
    await forgetRootKey(owner, id);
    say(
      place
        ? `The old root key ${id} was moved to ${place}. Backups of the database from before need it: keep it with them, and delete it here.`
        : `The old root key ${id} wraps nothing any more. Backups of the database from before need it.`,
    );
  }
  return { rootKey, rewrapped };
}

/** Where the configured key is the one that wraps, a new one is made where that can be done; else it is moved to. */
async function newRootKey(rootKeys: RootKeys, wrapping: RootKey): Promise<RootKey> {
  const configured = rootKeys.held ?? (await rootKeys.current());
  if (configured.id !== wrapping.id) return configured;
  if (rootKeys.holder.kind === "file") {
    const added = await addToKeyFile(rootKeys.holder.path);
    rootKeys.hold(added);
    return added;
  }
  await configured.renew?.();
  return configured;
}

async function rewrapAll(parts: RootRotationParts, rootKey: RootKey, generation: number): Promise<number> {
  let rewrapped = 0;
  let after: TenantId | undefined;
  for (;;) {
    const tenants = await listTenantIds(parts.owner, after);
    for (const tenantId of tenants) rewrapped += await rewrapTenant(parts, rootKey, generation, tenantId);
    after = tenants.at(-1);
    if (after === undefined) return rewrapped;
  }
}

async function rewrapTenant(
  { database, rootKeys }: RootRotationParts,
  rootKey: RootKey,
  generation: number,
  tenantId: TenantId,
): Promise<number> {
  const rows = await database.fast.run(tenantId, "unguarded", (tx) => tx.ask(listTenantKeys, tenantId));
  const stale = rows.filter((row) => row.root_key_id !== rootKey.id || rootKey.generationOf(row.wrapped) < generation);
  if (stale.length === 0) return 0;
  const rewrapped = await Promise.all(
    stale.map(async (row) => ({
      ...{ purpose: row.purpose, version: row.version, from: row.wrapped, root_key_id: rootKey.id },
      to: await rewrapTenantKey(rootKeys, rootKey, tenantId, wrappedKeyOf(row)),
    })),
  );
  await database.fast.run(tenantId, "unguarded", async (tx) => {
    for (const row of rewrapped) tx.tell(rewrapTenantKeyRow, row);
  });
  return stale.length;
}
