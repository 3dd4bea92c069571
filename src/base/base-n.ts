const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Bitcoin's alphabet: no 0, O, I, l. */
const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Big-endian bytes as base62, left-padded with zeros to `width` characters (22 for 128 bits, 43 for 256). */
export function toBase62(bytes: Uint8Array, width: number): string {
  return encode(bytes, BASE62).padStart(width, "0");
}

/** The `size` big-endian bytes that `text` encodes in base62, or undefined if it is not base62 or too large. */
export function fromBase62(text: string, size: number): Buffer | undefined {
  return decode(text, BASE62, size);
}

/** Bytes as base58. The first byte must not be zero, or its place would be lost. */
export function toBase58(bytes: Uint8Array): string {
  return encode(bytes, BASE58);
}

/** The `size` bytes that `text` encodes in base58, or undefined if it is not base58 or too large. */
export function fromBase58(text: string, size: number): Buffer | undefined {
  return decode(text, BASE58, size);
}

function decode(text: string, alphabet: string, size: number): Buffer | undefined {
  // Decoding is quadratic in the length, so longer texts than `size` bytes can need are rejected first.
  if (text.length > size * 2) return undefined;
  const base = BigInt(alphabet.length);
  let value = 0n;
  for (const char of text) {
    const digit = alphabet.indexOf(char);
    if (digit < 0) return undefined;
    value = value * base + BigInt(digit);
  }
  const hex = value.toString(16);
  return hex.length > size * 2 ? undefined : Buffer.from(hex.padStart(size * 2, "0"), "hex");
}

/** Digits of one division: 62 ** 5 times a limb is below 2 ** 53. Bigints take three times as long. */
const CHUNK = 5;
const LIMB = 2 ** 16;

/** Long division of limbs of two bytes. */
function encode(bytes: Uint8Array, alphabet: string): string {
  const base = alphabet.length;
  const divisor = base ** CHUNK;
  const limbs = limbsOf(bytes);
  let text = "";
  for (let first = firstNonZero(limbs, 0); first < limbs.length; ) {
    let rest = 0;
    for (let at = first; at < limbs.length; at += 1) {
      const value = rest * LIMB + (limbs[at] ?? 0);
      const quotient = Math.floor(value / divisor);
      limbs[at] = quotient;
      rest = value - quotient * divisor;
    }
    first = firstNonZero(limbs, first);
    for (let digit = 0; first < limbs.length ? digit < CHUNK : rest > 0; digit += 1) {
      text = alphabet.charAt(rest % base) + text;
      rest = Math.floor(rest / base);
    }
  }
  return text;
}

function limbsOf(bytes: Uint8Array): number[] {
  const limbs: number[] = [];
  const odd = bytes.length % 2;
  if (odd === 1) limbs.push(bytes[0] ?? 0);
  for (let at = odd; at < bytes.length; at += 2) limbs.push((bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0));
  return limbs;
}

function firstNonZero(limbs: readonly number[], from: number): number {
  let at = from;
  while (limbs[at] === 0) at += 1;
  return at;
}
