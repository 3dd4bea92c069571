import { hash, hkdfSync, pbkdf2Sync, scryptSync } from "node:crypto";
import type { JsonObject } from "../../../base/json.js";
import { byteParameter, optionalWhole, parameterText, wholeParameter } from "./parameters.js";

/**
 * Bounds for key derivation, which runs natively where no deadline can stop it. Each keeps a call below a second: a million
 * rounds take 0.16 s with SHA-256, 0.5 s with SHA-512 and 0.9 s with the slowest hash (BLAKE2b).
 */
const MAX_ROUNDS = 1_000_000;
/** With SHA-1 and the hashes of SHA-2 that have 32-bit words, for which more rounds are recommended (OWASP: 1,300,000). */
const MAX_FAST_ROUNDS = 2_000_000;
const FAST_HASHES = new Set(["sha1", "sha224", "sha256"]);
const MAX_DERIVED_BYTES = 1_024;
/** RFC 5869: 255 blocks of the hash. That of SHA-512 is the largest. */
const MAX_HKDF_BYTES = 255 * 64;
/** The salt is hashed again for every block that is derived: scrypt derives up to 4,096 of them. */
const MAX_SALT_BYTES = 16 * 1024;
/** Node's own limit. */
const MAX_SCRYPT_BYTES = 32 * 1024 * 1024;

export function derivePbkdf2(parameters: JsonObject): Buffer {
  const digest = parameterText(parameters, "digest");
  const most = FAST_HASHES.has(digest.toLowerCase().replace("-", "")) ? MAX_FAST_ROUNDS : MAX_ROUNDS;
  const rounds = wholeParameter(parameters, "iterations", 1, most);
  const bytes = wholeParameter(parameters, "keylen", 0, MAX_DERIVED_BYTES);
  // Each block of the hash repeats all rounds.
  const blocks = Math.max(Math.ceil(bytes / hashBytes(digest)), 1);
  if (rounds * blocks > most) {
    throw new RangeError(
      `The value of "iterations" is out of range. With a "keylen" of ${bytes} it must be <= ${Math.floor(most / blocks)}.`,
    );
  }
  return pbkdf2Sync(byteParameter(parameters, "password"), saltOf(parameters), rounds, bytes, digest);
}

export function deriveScrypt(parameters: JsonObject): Buffer {
  const N = optionalWhole(parameters, "N", 2, 2 ** 20) ?? 16_384;
  const r = optionalWhole(parameters, "r", 1, 64) ?? 8;
  const p = optionalWhole(parameters, "p", 1, 16) ?? 1;
  const bytes = wholeParameter(parameters, "keylen", 0, MAX_DERIVED_BYTES);
  // Memory is 128 N r bytes; the work is p times as much: 0.4 s at the bound.
  if (N * r * p * 128 > MAX_SCRYPT_BYTES * 4) throw new RangeError("Invalid scrypt params: too much work");
  const options = { N, r, p, maxmem: MAX_SCRYPT_BYTES + 1024 * 1024 };
  return scryptSync(byteParameter(parameters, "password"), saltOf(parameters), bytes, options);
}

export function deriveHkdf(parameters: JsonObject): Uint8Array {
  const bytes = wholeParameter(parameters, "keylen", 0, MAX_HKDF_BYTES);
  const key = byteParameter(parameters, "password");
  const { digest, info } = { digest: parameterText(parameters, "digest"), info: byteParameter(parameters, "info") };
  return new Uint8Array(hkdfSync(digest, key, saltOf(parameters), info, bytes));
}

function saltOf(parameters: JsonObject): Buffer {
  const salt = byteParameter(parameters, "salt");
  if (salt.length <= MAX_SALT_BYTES) return salt;
  throw new RangeError(`The "salt" may have at most ${MAX_SALT_BYTES} bytes.`);
}

/** Returns 1 for an unknown hash, which Node then rejects with its own message. */
function hashBytes(digest: string): number {
  try {
    return Math.max(hash(digest, "", "buffer").length, 1);
  } catch {
    return 1;
  }
}
