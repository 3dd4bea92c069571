import { sealedBytes } from "./sealed-record.js";
import type { TenantKeys } from "./tenant-keys.js";

const NAME = sealedBytes({ field: "name" });

/** @param id of the entity with this name. */
export function sealName(keys: TenantKeys, id: string, name: string): Buffer {
  return NAME.seal(keys, { id }, Buffer.from(name));
}

/** @throws {SealBroken} if no server gave the entity this name. */
export function openName(keys: TenantKeys, id: string, sealed: Uint8Array): string {
  return NAME.open(keys, { id }, sealed).toString();
}
