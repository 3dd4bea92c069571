import { randomFillSync } from "node:crypto";

const POOL_BYTES = 12 * 1024;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** 12 random bytes, from a pool of 1,024 nonces: one call for each would cost a third of a small encryption. */
export function newNonce(): Buffer {
  if (used + 12 > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const nonce = Buffer.from(pool.subarray(used, used + 12));
  pool.fill(0, used, used + 12);
  used += 12;
  return nonce;
}

/**
 * Joins parts so that no two different lists give the same bytes: each part is preceded by its length in four bytes.
 * Token ids are chosen by callers and may hold any separator, so a separator would not do.
 */
export function lengthPrefixed(parts: readonly (string | Uint8Array)[]): Buffer {
  let size = 0;
  for (const part of parts) size += 4 + (typeof part === "string" ? Buffer.byteLength(part) : part.length);
  const joined = Buffer.allocUnsafe(size);
  let offset = 0;
  for (const part of parts) {
    const start = offset + 4;
    let length = part.length;
    if (typeof part === "string") length = joined.write(part, start);
    else joined.set(part, start);
    joined.writeUInt32BE(length, offset);
    offset = start + length;
  }
  return joined;
}
