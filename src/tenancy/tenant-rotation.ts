import { OPERATOR_CONTEXT } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { RootKey } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import { generateTenantKey, ROTATED_PURPOSES, unwrapKeyVersions } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Database } from "../store/database.js";
import { scheduleDue } from "../store/jobs/due.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import {
  deleteRetiredTenantKey,
  insertTenantKey,
  type ListedTenantKey,
  listTenantKeys,
  retireTenantKey,
  wrappingRootKey,
} from "../store/tenancy/tenant-keys.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { BrokenRows } from "./broken-rows.js";
import { type Keyring, readWrappedKey } from "./keyring.js";
import { resealPass } from "./reseal.js";

/**
 * Unguarded writers may use a retired key for up to 70 s: 10 s in the keyring, then the preparation of a call to a
 * payment service or of a reactor's run, and that call or run, of 30 s each. The rest is a margin.
 */
export const RETIRE_AFTER_MS = 120_000;
/** A shorter time would interrupt shared transactions that are under way. */
export const RETIRE_AFTER_LEAST_MS = 2_000;

/**
 * The command that begins a rotation goes on with it at once and shows its progress: servers that came first would leave
 * it nothing to show. They look at whole minutes, so they come 30 to 90 s later.
 */
const CONTINUED_AFTER_MS = 90_000;

/** If a process dies during the work, the lease blocks others for this long. */
const LEASE_SECONDS = 10;

export interface RotationParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
}

/** The result of a request to rotate a tenant's keys. */
export type RotationStart = "begun" | "under way" | "gone";

/** Attempts after a concurrent change: three root key replacements in that time are not plausible. */
const ATTEMPTS = 3;

/**
 * Gives a tenant new keys for its sealed data. From the commit on, all replicas seal under them: the tenant's revision
 * rises, and every caller is authorized again with the new keys.
 * @returns "under way" if an earlier rotation has not ended; it must end first.
 * @throws {DatabaseSetupError} if the root key that wraps now is not available.
 * @throws {RootKeyRefused} if the tenant's keys do not open.
 */
export async function beginRotation(
  { database, rootKeys }: { readonly database: Database; readonly rootKeys: Pick<RootKeys, "find"> },
  tenantId: TenantId,
): Promise<RotationStart> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      return await tryToBegin(database, rootKeys, tenantId);
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }
  throw new DatabaseSetupError("Keys are being replaced by another process. Run this again.");
}

/** Since the check, another process has replaced the root key or started a rotation of this tenant's keys. */
class Overtaken extends Error {}

async function tryToBegin(
  database: Database,
  rootKeys: Pick<RootKeys, "find">,
  tenantId: TenantId,
): Promise<RotationStart> {
  const rows = await readKeys(database, tenantId);
  if (rows.length === 0) return "gone";
  if (rows.some(isRetired)) return "under way";
  const rootKey = await wrappingKey(database, rootKeys, tenantId);
  const current = ROTATED_PURPOSES.flatMap((purpose) => rows.filter((row) => row.purpose === purpose));
  const wrapped = current.map(readWrappedKey);
  // New keys beside keys that do not open would leave their values for good under the old ones.
  for (const purpose of ROTATED_PURPOSES) await unwrapKeyVersions(rootKeys, tenantId, purpose, wrapped);
  const added = await Promise.all(
    ROTATED_PURPOSES.map((purpose) => {
      const version = Math.max(...current.filter((row) => row.purpose === purpose).map((row) => row.version)) + 1;
      return generateTenantKey(rootKey, tenantId, purpose, version);
    }),
  );
  return database.of(tenantId).bulk(async (tx): Promise<RotationStart> => {
    tx.enqueue(incrementAuthRevision, tenantId);
    const [wrapping, ...retired] = await Promise.all([
      tx.query(wrappingRootKey, "wrapping"),
      ...current.map(({ purpose, version }) => tx.query(retireTenantKey, { purpose, version })),
    ]);
    // A replaced root key is destroyed once it wraps nothing any more, and these keys would be lost with it.
    if (wrapping !== rootKey.id || retired.includes(false)) throw new Overtaken();
    for (const { purpose, version, wrapped: bytes, rootKeyId, state } of added) {
      tx.enqueue(insertTenantKey, { purpose, version, wrapped: Buffer.from(bytes), root_key_id: rootKeyId, state });
    }
    scheduleDue(tx, { kind: "key_rotation", at: new Date(tx.now.getTime() + CONTINUED_AFTER_MS) });
    writeLog(tx, logEntry("tenant", tenantId, "update", { remark: "keys rotated", context: OPERATOR_CONTEXT }));
    return "begun";
  });
}

/** The root key that wraps now: pages of a long run are minutes apart, and it may have been replaced in between. */
async function wrappingKey(database: Database, rootKeys: Pick<RootKeys, "find">, tenantId: TenantId): Promise<RootKey> {
  const id = await database.of(tenantId).shared((tx) => tx.query(wrappingRootKey, "wrapping"));
  const rootKey = id === undefined ? undefined : await rootKeys.find(id);
  if (rootKey) return rootKey;
  throw new DatabaseSetupError(
    `The root key was replaced by ${id}, which is not configured here. Put its file in place, or set what names it, and run this again.`,
  );
}

export interface FinishOptions {
  /** Minimum retention of retired keys, in milliseconds. */
  readonly retireAfter: number;
  readonly onProgress: (table: string, resealed: number) => void;
  readonly signal: AbortSignal;
}

export type RotationOutcome =
  | { readonly state: "done" }
  /** Another process is working on it. */
  | { readonly state: "elsewhere" }
  /** Everything that opens is resealed, and the retired keys must be kept for some more time. */
  | { readonly state: "later" }
  /** The retention has ended, and the retired keys stay: these rows contain values that do not open. */
  | { readonly state: "broken"; readonly rows: BrokenRows };

/**
 * Reseals everything under retired keys, then destroys those keys, once a pass finds none that began after every writer
 * had dropped them. Any process can continue after an interruption.
 */
export async function finishRotation(
  parts: RotationParts,
  tenantId: TenantId,
  { retireAfter, onProgress, signal }: FinishOptions,
): Promise<RotationOutcome> {
  const { database, keyring, clock } = parts;
  const rows = await readKeys(database, tenantId);
  const retired = rows.filter(isRetired);
  if (retired.length === 0) return { state: "done" };
  const lease = database.lease(`rotation ${tenantId}`, LEASE_SECONDS);
  if (!(await lease.hold())) return { state: "elsewhere" };
  keyring.forget(tenantId);
  const keys = await keyring.of(tenantId);
  const begun = Math.max(...rows.filter((row) => !isRetired(row)).map(({ created_at }) => created_at.getTime()));
  for (;;) {
    // Only a pass that starts after every writer has dropped the old keys proves that nothing is left.
    const isLate = clock.now() >= begun + retireAfter;
    const { found, broken } = await resealPass({
      database,
      tenantId,
      keys,
      async onBatch(table, resealed) {
        signal.throwIfAborted();
        onProgress(table, resealed);
        if (!(await lease.hold())) throw new Error("another process has taken over the rotation");
      },
    });
    if (found > 0) continue;
    if (isLate && broken.count === 0) break;
    await lease.release();
    return isLate ? { state: "broken", rows: broken } : { state: "later" };
  }
  await database.of(tenantId).ordinary(async (tx) => {
    for (const { purpose, version } of retired) tx.enqueue(deleteRetiredTenantKey, { purpose, version });
    writeLog(tx, logEntry("tenant", tenantId, "update", "retired keys destroyed"));
  });
  keyring.forget(tenantId);
  await lease.release();
  return { state: "done" };
}

function readKeys(database: Database, tenantId: TenantId): Promise<readonly ListedTenantKey[]> {
  return database.of(tenantId).shared((tx) => tx.query(listTenantKeys, tenantId));
}

function isRetired({ state }: ListedTenantKey): boolean {
  return state === "retired";
}
