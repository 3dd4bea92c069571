import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { newTenantId } from "../../src/base/ids.js";
import type { KeyVersions } from "../../src/crypto/sealed.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";

const newKey = (): KeyObject => createSecretKey(randomBytes(32));

/** One version of a key. */
export const newVersions = (): KeyVersions => ({ current: 1, byVersion: new Map([[1, newKey()]]) });

/** Random keys of a tenant, without a database or a root key. */
export function newTenantKeys(tenantId = newTenantId()): TenantKeys {
  return {
    tenantId,
    ...{ data: newVersions(), cvc: newVersions(), audit: newVersions() },
    ...{ fingerprint: newKey(), search: newKey(), proof: newKey(), keyMark: newKey() },
  };
}
