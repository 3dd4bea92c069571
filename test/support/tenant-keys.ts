import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import type { KeyVersions } from "../../src/crypto/sealed.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";

const newKey = (): KeyObject => createSecretKey(randomBytes(34));

/** One version of a key, whose values are bound to the columns of their row. */
export const newVersions = (): KeyVersions => ({ current: 1, byVersion: new Map([[1, newKey()]]), bindsFrom: 0 });

/** Random keys of a tenant, without a database or a root key. */
export function newTenantKeys(): TenantKeys {
  return {
    ...{ data: newVersions(), cvc: newVersions(), audit: newVersions() },
    ...{ fingerprint: newKey(), search: newKey(), proof: newKey() },
  };
}

/** The keys of a tenant from an early release: they bind no values, and rights are in the clear. */
export function newUnboundKeys(): TenantKeys {
  const versions = () => ({ ...newVersions(), bindsFrom: undefined });
  return { ...newTenantKeys(), data: versions(), cvc: versions(), audit: versions() };
}
