import { randomFillSync } from "node:crypto";

const POOL_BYTES = 12 * 1024;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Writes 12 random bytes from a pool of 1,024 nonces: one call per nonce would cost a third of a small encryption.
 * @param nonce receives them. Absent: a new one.
 */
export function newNonce(nonce: Buffer = Buffer.allocUnsafe(12)): Buffer {
  if (used + 12 > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  pool.copy(nonce, 0, used, used + 12);
  pool.fill(0, used, used + 12);
  used += 12;
  return nonce;
}

/**
 * Joins parts unambiguously: each is preceded by its length in four bytes. A separator would not do, because callers
 * choose token ids that may contain it.
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

/** Says that something stored has a format of another version. It is never guessed which. */
export function unknownFormat(what: string, found: number | string | undefined, known: number): string {
  return `${what} has the format ${found}; this version of Cloakroom knows format ${known}`;
}
