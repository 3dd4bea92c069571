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

/** Digits that are computed as a number instead of a bigint, which takes ten times as long: 62 ** 8 is below 2 ** 53. */
const CHUNK = 8;

function encode(bytes: Uint8Array, alphabet: string): string {
  const base = alphabet.length;
  const divisor = BigInt(base ** CHUNK);
  let value = BigInt(`0x${Buffer.from(bytes).toString("hex") || "0"}`);
  let text = "";
  while (value > 0n) {
    let chunk = Number(value % divisor);
    value /= divisor;
    for (let digit = 0; value > 0n ? digit < CHUNK : chunk > 0; digit += 1) {
      text = alphabet.charAt(chunk % base) + text;
      chunk = Math.floor(chunk / base);
    }
  }
  return text;
}
