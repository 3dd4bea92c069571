import type { Caller } from "../../access/caller.js";
import { invalid } from "../../base/fault.js";

const HEADER = "BT-IDEMPOTENCY-KEY";
const MAX_KEY_LENGTH = 255;

/** A random UUID (version 4) has 122 random bits, which count as 128. */
const MIN_BITS = 122;
/** Random keys of {@link MIN_BITS} have more, but for one in a million. */
const MIN_DISTINCT = 8;

/** What characters of a key are drawn from, the smallest that has them all: decimal, hexadecimal, Base36, Base64. */
const ALPHABETS: readonly (readonly [characters: RegExp, size: number])[] = [
  [/^\d*$/, 10],
  [/^(?:[\da-f]*|[\dA-F]*)$/, 16],
  [/^(?:[\da-z]*|[\dA-Z]*)$/, 36],
];
const BASE64 = 64;

/**
 * A public application's key is known to everybody, so anyone who guesses an idempotency key could repeat the request:
 * those of public applications must be random.
 * @throws {Fault} validation_failed naming the header.
 */
export function requireIdempotencyKey(key: string, caller: Caller): void {
  if (key.length === 0 || key.length > MAX_KEY_LENGTH) {
    throw invalid(HEADER, `must have 1 to ${MAX_KEY_LENGTH} characters`);
  }
  if (hasPublicKey(caller) && !looksRandom(key)) {
    throw invalid(
      HEADER,
      "must hold 128 random bits with the key of a public application: a random UUID, or 22 characters of random Base64",
    );
  }
}

/**
 * Whether the request may come from anybody: the keys of public applications are in web pages. Those of a frame belong to
 * its pass, which no page and no other frame has.
 */
export function hasPublicKey({ principal, frame }: Pick<Caller, "principal" | "frame">): boolean {
  return principal.kind === "application" && principal.type === "public" && frame === undefined;
}

/** Whether a key is long enough to be random. No check can find out whether it is. */
function looksRandom(key: string): boolean {
  const withoutDashes = key.replaceAll("-", "");
  const [, size = BASE64] = ALPHABETS.find(([alphabet]) => alphabet.test(withoutDashes)) ?? [];
  // A dash separates the parts of a UUID, and is a digit of Base64url.
  const digits = size === BASE64 ? key : withoutDashes;
  return digits.length * Math.log2(size) >= MIN_BITS && new Set(digits).size >= MIN_DISTINCT;
}
