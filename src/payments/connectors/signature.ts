import { createHmac, timingSafeEqual } from "node:crypto";

/** Compares in constant time: the duration does not show where the two differ. */
export function isSame(expected: Buffer, given: Buffer): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

export function hmac(hash: "sha256" | "sha512", key: string | Buffer, content: string | Buffer): Buffer {
  return createHmac(hash, key).update(content).digest();
}
