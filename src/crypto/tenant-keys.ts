import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed } from "./bytes.js";
import { type RootKey, RootKeyDenied, RootKeyRefused } from "./root-key.js";
import type { RootKeys } from "./root-keys.js";
import type { KeyVersions } from "./sealed.js";

/**
 * Purposes of tenant keys. A key of one purpose is never used for another.
 * - `data`: seals token data, attributes, configuration, connection fields, stored responses
 * - `cvc`: seals card verification codes, which live for an hour
 * - `fingerprint`, `search`: keyed hashes; never rotated on schedule, because rotation changes every fingerprint and
 *   term
 * - `proof`: authenticates cursors and other texts that callers return unchanged; the vault's own marks all callers'
 *   keys
 * - `audit`: seals of the log; an older version is kept while its seals may be verified
 */
export const KEY_PURPOSES = ["data", "cvc", "fingerprint", "search", "proof", "audit"] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

/**
 * The purposes whose keys are rotated: their values can be sealed again. Keys of fingerprints, search terms, cursors,
 * idempotency hashes and the log stay, because new values are compared with old ones.
 */
export const ROTATED_PURPOSES = ["data", "cvc"] as const satisfies readonly KeyPurpose[];

/** A tenant key as it is stored: wrapped by a root key, bound to its tenant, purpose and version. */
export interface WrappedTenantKey {
  readonly purpose: KeyPurpose;
  readonly version: number;
  readonly wrapped: Uint8Array;
  /** The id of the root key that wraps it. */
  readonly rootKeyId: string;
  /** The current version seals new values; retired ones open older values. */
  readonly state: "current" | "retired";
}

/** Unwrapped keys by purpose and version. A later load of the tenant unwraps only new ones. */
export type UnwrappedKeys = ReadonlyMap<string, KeyObject>;

/**
 * The unwrapped keys of one tenant. Key bytes stay inside `KeyObject`s, where text searches of a heap dump do not find
 * them.
 */
export interface OwnKeys {
  /** The tenant that they are of. What they seal is bound to it. */
  readonly tenantId: TenantId;
  readonly data: KeyVersions;
  readonly cvc: KeyVersions;
  readonly fingerprint: KeyObject;
  readonly search: KeyObject;
  readonly proof: KeyObject;
  readonly audit: KeyVersions;
}

/** The keys of a tenant, and the one of the vault that marks the keys which the tenant gives to callers. */
export interface TenantKeys extends OwnKeys {
  readonly keyMark: KeyObject;
}

const KEY_BYTES = 32;

export async function generateTenantKeys(root: RootKey, tenantId: TenantId): Promise<WrappedTenantKey[]> {
  return Promise.all(KEY_PURPOSES.map((purpose) => generateTenantKey(root, tenantId, purpose, 1)));
}

/** Generates and wraps a key of one purpose. Its bytes leave this function only when wrapped. */
export async function generateTenantKey(
  root: RootKey,
  tenantId: TenantId,
  purpose: KeyPurpose,
  version: number,
): Promise<WrappedTenantKey> {
  const secret = randomBytes(KEY_BYTES);
  const wrapped = await root.wrap(secret, wrappingContext(tenantId, purpose, version));
  secret.fill(0);
  return { purpose, version, wrapped, rootKeyId: root.id, state: "current" };
}

/** The result of {@link unwrapTenantKeys}: the keys, and the unwrapped key of each version for the next load. */
export interface UnwrappedTenant {
  readonly keys: OwnKeys;
  readonly unwrapped: UnwrappedKeys;
}

/**
 * Unwraps the keys of a tenant.
 * @param known keys of the same tenant that were unwrapped before; the root key's holder is not asked for these.
 * @throws {RootKeyRefused} if a row was changed or belongs to another tenant, purpose or version.
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
    tenantId,
    data: versions("data"),
    cvc: versions("cvc"),
    fingerprint: single("fingerprint"),
    search: single("search"),
    proof: single("proof"),
    audit: versions("audit"),
  };
  return { keys, unwrapped: new Map(unwrapped.map(({ name, key }) => [name, key])) };
}

/** Unwraps the keys of one purpose. For errors see {@link unwrapTenantKeys}. */
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
      // By its bytes: after a failover that lost a rotation, another key may have the same purpose and version.
      const name = `${row.purpose} ${row.version} ${Buffer.from(row.wrapped).toString("base64")}`;
      return { row, name, key: known.get(name) ?? createSecretKey(await unwrapTenantKey(roots, tenantId, row)) };
    }),
  );
}

function versionsOf(unwrapped: readonly UnwrappedKey[], purpose: KeyPurpose): KeyVersions {
  const mine = unwrapped.filter(({ row }) => row.purpose === purpose);
  const current = mine.find(({ row }) => row.state === "current");
  if (!current) throw new Error(`the tenant has no current ${purpose} key`);
  // Rotations retire older versions, and destroy them later with all that is sealed under them.
  if (mine.some(({ row }) => row.version > current.row.version)) {
    throw new Error(`a replaced ${purpose} key of the tenant is marked as the current one`);
  }
  const byVersion = new Map(mine.map(({ row, key }) => [row.version, key]));
  return { current: current.row.version, byVersion };
}

export interface TenantKeySource {
  /**
   * The keys of a tenant, read at `revision`; at its present one if that is another.
   * @throws {Fault} unavailable while the root key's holder is away; unauthenticated once the tenant is deleted.
   */
  of(tenantId: TenantId, revision?: number): Promise<TenantKeys>;
  /** The keys of a tenant, read now: a value was found under a newer one. @throws {Fault} as {@link of} does. */
  readAgain(tenantId: TenantId): Promise<TenantKeys>;
  /**
   * The keys of a tenant as they were last read, perhaps long ago. Only for the key of the log, which is never replaced:
   * reading it again for each minute would cost the sealer a query a tenant.
   * @throws {Fault} as {@link of} does, if they were not read yet.
   */
  lastRead(tenantId: TenantId): Promise<TenantKeys>;
  /**
   * The vault's key that marks what it gives to callers as keys: see `newKey`. It stays the same for good.
   * @throws {Fault} unavailable while it has not been read and cannot be.
   */
  keyMark(): Promise<KeyObject>;
  /** A caller was authorized under this revision: older keys of the tenant must not be used any more. */
  expect(tenantId: TenantId, revision: number): void;
}

/** Wraps a tenant key by another root key. Its bytes pass through this process unchanged. */
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
  if (!root) throw new RootKeyDenied(`The root key ${rootKeyId}, which wraps keys of tenants, is not available.`);
  const secret = await root.unwrap(wrapped, wrappingContext(tenantId, purpose, version));
  if (secret.length !== KEY_BYTES)
    throw new RootKeyRefused(`a tenant key has ${secret.length} bytes, not ${KEY_BYTES}`);
  return secret;
}

function wrappingContext(tenantId: TenantId, purpose: KeyPurpose, version: number): Buffer {
  const versionBytes = Buffer.allocUnsafe(4);
  versionBytes.writeUInt32BE(version);
  return lengthPrefixed(["cloakroom/tenant-key/1", tenantId, purpose, versionBytes]);
}
