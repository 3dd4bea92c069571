import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { fromBase58, toBase58 } from "../base/base-n.js";
import { lengthPrefixed } from "./bytes.js";

const FINGERPRINT_VERSION = 0x01;

/**
 * Identifies the content of a token within its tenant and type: 32 bytes of HMAC-SHA-256 under the tenant's fingerprint
 * key. Card numbers are few enough to try them all against a plain hash (PCI DSS 3.5.1.1).
 */
export function hashFingerprint(key: KeyObject, type: string, value: string): Buffer {
  return createHmac("sha256", key)
    .update(lengthPrefixed(["cloakroom/fingerprint/1", type, value]))
    .digest();
}

/** The public form of a fingerprint: base58 of a version byte and the 32 bytes, 44 to 46 letters and digits. */
export function showFingerprint(fingerprint: Uint8Array): string {
  return toBase58(Buffer.concat([Buffer.of(FINGERPRINT_VERSION), fingerprint]));
}

/** Reads what {@link showFingerprint} wrote; undefined for every other text. */
export function readFingerprint(text: string): Buffer | undefined {
  const fingerprint = fromBase58(text, 33)?.subarray(1);
  // Shorter texts and other versions also decode to 33 bytes, but encode differently.
  return fingerprint && showFingerprint(fingerprint) === text ? fingerprint : undefined;
}

/** Kinds of search terms: metadata pairs, index values and containers of tokens; addresses of people; references of payments. */
export type TermKind = "metadata" | "index" | "container" | "email" | "identity" | "payment";

/** The blinded form of a search term: the first 16 bytes of HMAC-SHA-256 under the tenant's search key. */
export function searchTerm(key: KeyObject, kind: TermKind, name: string, value: string): Buffer {
  return createHmac("sha256", key)
    .update(lengthPrefixed(["cloakroom/term/1", kind, name, value]))
    .digest()
    .subarray(0, 16);
}

/**
 * Authenticates a text that the vault hands out, such as a cursor: the first 16 bytes of HMAC-SHA-256 over the parts.
 */
export function truncatedMac(key: KeyObject, parts: readonly (string | Uint8Array)[]): Buffer {
  return createHmac("sha256", key).update(lengthPrefixed(parts)).digest().subarray(0, 16);
}

/** Compares in constant time: the duration does not show where the two differ. */
export function macEquals(expected: Uint8Array, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}
