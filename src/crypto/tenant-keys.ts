import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed } from "./bytes.js";
import { type RootKey, RootKeyDenied } from "./root-key.js";
import type { RootKeys } from "./root-keys.js";
import type { KeyVersions } from "./sealed.js";

/**
 * What a tenant key is for. A key of one purpose is never used for another.
 * - `data`: seals token data, attributes, configuration, connection fields, stored answers
 * - `cvc`: seals card verification codes, which live for an hour
 * - `fingerprint`, `search`: keyed hashes; never rotated on schedule, since that changes every fingerprint and term
 * - `proof`: cursors and other texts that we hand out and want back unchanged
 * - `audit`: seals of the log; an older version is kept for as long as its seals are to be verified
 */
export const KEY_PURPOSES = ["data", "cvc", "fingerprint", "search", "proof", "audit"] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

/**
 * The purposes whose keys are rotated: what they sealed can be sealed again. Fingerprints, search terms, cursors and the
 * hashes of idempotency keys are compared with others of their kind, so that their keys stay.
 */
export const ROTATED_PURPOSES = ["data", "cvc"] as const satisfies readonly KeyPurpose[];

/** A tenant key as it is stored: wrapped by a root key, bound to its tenant, purpose and version. */
export interface WrappedTenantKey {
  readonly purpose: KeyPurpose;
  readonly version: number;
  readonly wrapped: Uint8Array;
  /** The id of the root key that wraps it. */
  readonly rootKeyId: string;
  /** New values are sealed under the current version; retired ones are kept to open older values. */
  readonly state: "current" | "retired";
}

/** Unwrapped keys by purpose and version, so that a tenant's next load unwraps only what is new. */
export type UnwrappedKeys = ReadonlyMap<string, KeyObject>;

/** The unwrapped keys of one tenant. Key bytes stay inside `KeyObject`s, out of reach of heap dumps read as text. */
export interface TenantKeys {
  readonly data: KeyVersions;
  readonly cvc: KeyVersions;
  readonly fingerprint: KeyObject;
  readonly search: KeyObject;
  readonly proof: KeyObject;
  readonly audit: KeyVersions;
}

/**
 * The length of a tenant key in bytes tells what its values are bound to. The root key's seal covers the length, so the
 * owner of the database cannot pass a key off as one that binds less. All of the bytes are random: more of them than 32
 * do no harm to an HMAC key, and keys of 32 bytes were made before values were bound to anything.
 */
const KEY_BYTES = {
  /** Values are bound to nothing but their place. */
  unbound: 32,
  /** Values are bound to the plain columns beside them; those of the tenant's older keys may not be. */
  bound: 33,
  /** The same, and no older key of the tenant is to open an unbound value either. */
  allBound: 34,
} as const;

/** The keys of a tenant that does not have any yet: one of each purpose. */
export async function generateTenantKeys(root: RootKey, tenantId: TenantId): Promise<WrappedTenantKey[]> {
  return Promise.all(KEY_PURPOSES.map((purpose) => generateTenantKey(root, tenantId, purpose, 1)));
}

/**
 * Makes a key of one purpose, wrapped at once: its bytes leave this function only so.
 * @param older the tenant's data keys so far, where there are any: values under them may be bound to nothing.
 */
export async function generateTenantKey(
  root: RootKey,
  tenantId: TenantId,
  purpose: KeyPurpose,
  version: number,
  older?: KeyVersions,
): Promise<WrappedTenantKey> {
  const areAllBound = !older || [...older.byVersion.values()].every(binds);
  const secret = randomBytes(areAllBound ? KEY_BYTES.allBound : KEY_BYTES.bound);
  const wrapped = await root.wrap(secret, wrappingContext(tenantId, purpose, version));
  secret.fill(0);
  return { purpose, version, wrapped, rootKeyId: root.id, state: "current" };
}

/** What {@link unwrapTenantKeys} gives: the keys, and each of them for the next time. */
export interface UnwrappedTenant {
  readonly keys: TenantKeys;
  readonly unwrapped: UnwrappedKeys;
}

/**
 * Unwraps the keys of a tenant.
 * @param known what was unwrapped of the same tenant before: the root key's holder is not asked for that again.
 * @throws {RootKeyRefused} when a row was changed or belongs to another tenant, purpose or version.
 * @throws {RootKeyDenied | RootKeyUnreachable}
 */
export async function unwrapTenantKeys(
  roots: Pick<RootKeys, "find">,
  tenantId: TenantId,
  rows: readonly WrappedTenantKey[],
  known: UnwrappedKeys = new Map(),
): Promise<UnwrappedTenant> {
  const unwrapped = await unwrapAll(roots, tenantId, rows, known);
  const versions = (purpose: KeyPurpose): KeyVersions => versionsOf(unwrapped, purpose);
  const single = (purpose: KeyPurpose): KeyObject => {
    const { current, byVersion } = versions(purpose);
    const key = byVersion.get(current);
    if (!key) throw new Error(`the tenant has no ${purpose} key`);
    return key;
  };
  const keys = {
    data: versions("data"),
    cvc: versions("cvc"),
    fingerprint: single("fingerprint"),
    search: single("search"),
    proof: single("proof"),
    audit: versions("audit"),
  };
  return { keys, unwrapped: new Map(unwrapped.map(({ name, key }) => [name, key])) };
}

/** Unwraps the keys of one purpose alone. For errors see {@link unwrapTenantKeys}. */
export async function unwrapKeyVersions(
  roots: Pick<RootKeys, "find">,
  tenantId: TenantId,
  purpose: KeyPurpose,
  rows: readonly WrappedTenantKey[],
): Promise<KeyVersions> {
  const mine = rows.filter((row) => row.purpose === purpose);
  return versionsOf(await unwrapAll(roots, tenantId, mine, new Map()), purpose);
}

interface UnwrappedKey {
  readonly row: WrappedTenantKey;
  readonly name: string;
  readonly key: KeyObject;
}

function unwrapAll(
  roots: Pick<RootKeys, "find">,
  tenantId: TenantId,
  rows: readonly WrappedTenantKey[],
  known: UnwrappedKeys,
): Promise<UnwrappedKey[]> {
  return Promise.all(
    rows.map(async (row) => {
      const name = `${row.purpose} ${row.version}`;
      return { row, name, key: known.get(name) ?? createSecretKey(await unwrapTenantKey(roots, tenantId, row)) };
    }),
  );
}

function versionsOf(unwrapped: readonly UnwrappedKey[], purpose: KeyPurpose): KeyVersions {
  const mine = unwrapped.filter(({ row }) => row.purpose === purpose);
  const current = mine.find(({ row }) => row.state === "current");
  if (!current) throw new Error(`the tenant has no current ${purpose} key`);
  // Rotations retire what is older. New values under an older key might be bound to nothing.
  if (mine.some(({ row }) => row.version > current.row.version)) {
    throw new Error(`a replaced ${purpose} key of the tenant is marked as the current one`);
  }
  const byVersion = new Map(mine.map(({ row, key }) => [row.version, key]));
  return { current: current.row.version, byVersion, bindsFrom: bindsFrom(byVersion) };
}

/** Finds the unwrapped keys of a tenant. */
export interface TenantKeySource {
  /**
   * The keys of a tenant, as of `revision` of it or later.
   * @throws {Fault} unavailable while the root key's holder is away; unauthenticated once the tenant is deleted.
   */
  of(tenantId: TenantId, revision?: number): Promise<TenantKeys>;
  /** A caller was authorized under this revision: older keys of the tenant must not be used any more. */
  expect(tenantId: TenantId, revision: number): void;
}

/** Whether rows that decide what a key may do are refused without a seal: all of the tenant's have one. */
export function requiresSeals({ data }: Pick<TenantKeys, "data">): boolean {
  return data.bindsFrom !== undefined;
}

function bindsFrom(byVersion: ReadonlyMap<number, KeyObject>): number | undefined {
  const binding = [...byVersion].filter(([, key]) => binds(key));
  if (binding.length === 0) return undefined;
  if (binding.some(([, key]) => key.symmetricKeySize === KEY_BYTES.allBound)) return 0;
  return Math.min(...binding.map(([version]) => version));
}

function binds({ symmetricKeySize = 0 }: KeyObject): boolean {
  return symmetricKeySize > KEY_BYTES.unbound;
}

/** Wraps a tenant key by another root key. Its bytes pass through this process, and stay the same. */
export async function rewrapTenantKey(
  roots: Pick<RootKeys, "find">,
  to: RootKey,
  tenantId: TenantId,
  row: WrappedTenantKey,
): Promise<Buffer> {
  const secret = await unwrapTenantKey(roots, tenantId, row);
  try {
    return await to.wrap(secret, wrappingContext(tenantId, row.purpose, row.version));
  } finally {
    secret.fill(0);
  }
}

async function unwrapTenantKey(
  roots: Pick<RootKeys, "find">,
  tenantId: TenantId,
  { purpose, version, wrapped, rootKeyId }: WrappedTenantKey,
): Promise<Buffer> {
  const root = await roots.find(rootKeyId);
  if (!root) throw new RootKeyDenied(`The root key ${rootKeyId}, which wraps keys of tenants, is not at hand.`);
  return root.unwrap(wrapped, wrappingContext(tenantId, purpose, version));
}

function wrappingContext(tenantId: TenantId, purpose: KeyPurpose, version: number): Buffer {
  const versionBytes = Buffer.allocUnsafe(4);
  versionBytes.writeUInt32BE(version);
  return lengthPrefixed(["cloakroom/tenant-key/1", tenantId, purpose, versionBytes]);
}
