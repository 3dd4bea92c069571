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

/** The keys of a tenant that does not have any yet: one of each purpose. */
export async function generateTenantKeys(root: RootKey, tenantId: TenantId): Promise<WrappedTenantKey[]> {
  return Promise.all(KEY_PURPOSES.map((purpose) => generateTenantKey(root, tenantId, purpose, 1)));
}

/** Makes a key of one purpose, wrapped at once: its bytes leave this function only so. */
export async function generateTenantKey(
  root: RootKey,
  tenantId: TenantId,
  purpose: KeyPurpose,
  version: number,
): Promise<WrappedTenantKey> {
  const secret = randomBytes(32);
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
  const unwrapped = await Promise.all(
    rows.map(async (row) => {
      const name = `${row.purpose} ${row.version}`;
      return { row, name, key: known.get(name) ?? createSecretKey(await unwrapTenantKey(roots, tenantId, row)) };
    }),
  );
  const versions = (purpose: KeyPurpose): KeyVersions => {
    const mine = unwrapped.filter(({ row }) => row.purpose === purpose);
    const current = mine.find(({ row }) => row.state === "current");
    if (!current) throw new Error(`the tenant has no current ${purpose} key`);
    return { current: current.row.version, byVersion: new Map(mine.map(({ row, key }) => [row.version, key])) };
  };
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
