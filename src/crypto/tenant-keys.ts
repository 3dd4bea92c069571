import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed } from "./bytes.js";
import type { RootKey } from "./root-key.js";
import type { KeyVersions } from "./sealed.js";

/**
 * What a tenant key is for. A key of one purpose is never used for another.
 * - `data`: seals token data, attributes, configuration, connection fields, stored answers
 * - `cvc`: seals card verification codes, which live for an hour
 * - `fingerprint`, `search`: keyed hashes; never rotated on schedule, since that changes every fingerprint and term
 * - `proof`: cursors and other texts that we hand out and want back unchanged
 */
export const KEY_PURPOSES = ["data", "cvc", "fingerprint", "search", "proof"] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

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

/** The unwrapped keys of one tenant. Key bytes stay inside `KeyObject`s, out of reach of heap dumps read as text. */
export interface TenantKeys {
  readonly data: KeyVersions;
  readonly cvc: KeyVersions;
  readonly fingerprint: KeyObject;
  readonly search: KeyObject;
  readonly proof: KeyObject;
}

/** The keys of a tenant that does not have any yet: one of each purpose. */
export async function generateTenantKeys(root: RootKey, tenantId: TenantId): Promise<WrappedTenantKey[]> {
  return Promise.all(KEY_PURPOSES.map((purpose) => generateTenantKey(root, tenantId, purpose, 1)));
}

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

/**
 * Unwraps the keys of a tenant.
 * @throws {RootKeyRefused} when a row was changed or belongs to another tenant, purpose or version.
 */
export async function unwrapTenantKeys(
  roots: ReadonlyMap<string, RootKey>,
  tenantId: TenantId,
  rows: readonly WrappedTenantKey[],
): Promise<TenantKeys> {
  const unwrapped = await Promise.all(
    rows.map(async (row) => {
      const root = roots.get(row.rootKeyId);
      if (!root) throw new Error(`root key ${row.rootKeyId} is not at hand`);
      const secret = await root.unwrap(row.wrapped, wrappingContext(tenantId, row.purpose, row.version));
      const key = createSecretKey(secret);
      secret.fill(0);
      return { row, key };
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
  return {
    data: versions("data"),
    cvc: versions("cvc"),
    fingerprint: single("fingerprint"),
    search: single("search"),
    proof: single("proof"),
  };
}

function wrappingContext(tenantId: TenantId, purpose: KeyPurpose, version: number): Buffer {
  const versionBytes = Buffer.allocUnsafe(4);
  versionBytes.writeUInt32BE(version);
  return lengthPrefixed(["cloakroom/tenant-key/1", tenantId, purpose, versionBytes]);
}
