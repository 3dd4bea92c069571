import { logEntry } from "../audit/log-entry.js";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { RootKey } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import { generateTenantKey, ROTATED_PURPOSES, unwrapKeyVersions } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit-logs.js";
import type { Database } from "../store/database.js";
import { noteDue } from "../store/due.js";
import { DatabaseSetupError } from "../store/roles.js";
import {
  deleteRetiredTenantKey,
  insertTenantKey,
  type ListedTenantKey,
  listTenantKeys,
  retireTenantKey,
  wrappingRootKey,
} from "../store/tenant-keys.js";
import { raiseAuthRevision } from "../store/tenants.js";
import type { BrokenRows } from "./broken-rows.js";
import { type Keyring, wrappedKeyOf } from "./keyring.js";
import { resealPass } from "./reseal.js";
import { sealAccess } from "./seal-access.js";

/**
 * Whoever writes unguarded may hold a key for as long after it was retired: 10 s of the keyring, and a call to a payment
 * service or a run of a reactor, of 30 s each with what leads up to it.
 */
export const RETIRE_AFTER_MS = 120_000;
/** Less would cut into flights that are under way. */
export const RETIRE_AFTER_LEAST_MS = 2_000;

/** A process that dies at it keeps others from it for so long. */
const LEASE_SECONDS = 10;

export interface RotationParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
}

/** What became of a wish to rotate a tenant's keys. */
export type RotationStart = "begun" | "under way" | "gone";

/** Whoever is overtaken looks again so often: nobody replaces a root key three times in that time. */
const ATTEMPTS = 3;

/**
 * Gives a tenant new keys for what it seals. From the commit on, all replicas seal under them: the tenant's revision rises,
 * so that every caller is authorized again, with the new keys.
 * @returns "under way" where an earlier rotation has not ended, which is to be ended first.
 * @throws {DatabaseSetupError} where the root key that wraps now is not at hand.
 * @throws {RootKeyRefused} where the tenant's keys do not open.
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

/** Another process replaced the root key, or rotates the keys of this tenant, since they were looked at. */
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
  const wrapped = current.map(wrappedKeyOf);
  const older = await unwrapKeyVersions(rootKeys, tenantId, "data", wrapped);
  const added = await Promise.all(
    ROTATED_PURPOSES.map((purpose) => {
      const version = Math.max(...current.filter((row) => row.purpose === purpose).map((row) => row.version)) + 1;
      return generateTenantKey(rootKey, tenantId, purpose, version, older);
    }),
  );
  const retiring = wrapped.map((row) => ({ ...row, state: "retired" as const }));
  const data = await unwrapKeyVersions(rootKeys, tenantId, "data", [...retiring, ...added]);
  return database.slow.run(tenantId, "unguarded", async (tx): Promise<RotationStart> => {
    tx.enqueue(raiseAuthRevision, tenantId);
    const [wrapping, ...retired] = await Promise.all([
      tx.query(wrappingRootKey, "wrapping"),
      ...current.map(({ purpose, version }) => tx.query(retireTenantKey, { purpose, version })),
    ]);
    // A root key that was replaced is thrown away once it wraps nothing any more, and these keys with it.
    if (wrapping !== rootKey.id || retired.includes(false)) throw new Overtaken();
    for (const { purpose, version, wrapped: bytes, rootKeyId, state } of added) {
      tx.enqueue(insertTenantKey, { purpose, version, wrapped: Buffer.from(bytes), root_key_id: rootKeyId, state });
    }
    if (older.bindsFrom === undefined) await sealAccess(tx, { data });
    noteDue(tx, { kind: "key_rotation", at: tx.now });
    writeLog(tx, logEntry(undefined, "tenant", tenantId, "update", "keys rotated"));
    return "begun";
  });
}

/** The root key that wraps by now: pages of a long run are minutes apart, and it may have been replaced in between. */
async function wrappingKey(database: Database, rootKeys: Pick<RootKeys, "find">, tenantId: TenantId): Promise<RootKey> {
  const id = await database.fast.run(tenantId, "unguarded", (tx) => tx.query(wrappingRootKey, "wrapping"));
  const rootKey = id === undefined ? undefined : await rootKeys.find(id);
  if (rootKey) return rootKey;
  throw new DatabaseSetupError(
    `The root key was replaced by ${id}, which is not at hand here. Put its file in place, or set what names it, and run this again.`,
  );
}

export interface FinishOptions {
  /** Milliseconds that retired keys are kept at least. */
  readonly retireAfter: number;
  readonly onProgress: (table: string, resealed: number) => void;
  readonly signal: AbortSignal;
}

/** How far a rotation got. */
export type RotationOutcome =
  /** Nothing is left to do. */
  | { readonly state: "done" }
  /** Another process is at it. */
  | { readonly state: "elsewhere" }
  /** All that opens is sealed anew, and the retired keys are to be kept for some time still. */
  | { readonly state: "later" }
  /** The time is over, and the retired keys stay: these rows hold what does not open. */
  | { readonly state: "broken"; readonly rows: BrokenRows };

/** Seals anew whatever is under retired keys, and destroys those. Any process can take over where another was cut off. */
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
    // Only a pass that starts when no writer can have an old key any more tells that nothing is left.
    const isLate = clock.now() >= begun + retireAfter;
    const { found, broken } = await resealPass({
      ...{ database, tenantId, keys },
      async onStretch(table, resealed) {
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
  await database.ordinary.run(tenantId, "unguarded", async (tx) => {
    for (const { purpose, version } of retired) tx.enqueue(deleteRetiredTenantKey, { purpose, version });
    writeLog(tx, logEntry(undefined, "tenant", tenantId, "update", "retired keys destroyed"));
  });
  keyring.forget(tenantId);
  await lease.release();
  return { state: "done" };
}

function readKeys(database: Database, tenantId: TenantId): Promise<readonly ListedTenantKey[]> {
  return database.fast.run(tenantId, "unguarded", (tx) => tx.query(listTenantKeys, tenantId));
}

function isRetired({ state }: ListedTenantKey): boolean {
  return state === "retired";
}
