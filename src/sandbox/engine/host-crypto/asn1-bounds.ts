/** Most elements of a key. An RSA key has some twenty, a curve with explicit parameters some thirty. */
const MAX_ELEMENTS = 64;
const MAX_DEPTH = 8;

const CONSTRUCTED = 0x20;
const LONG_TAG = 0x1f;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const SEQUENCE = 0x30;

/** The key is not DER. Node has this message for it. */
class NotDer extends Error {
  constructor() {
    super("error:1E08010C:DECODER routines::unsupported");
  }
}

/**
 * Walks the DER of a key and rejects it if a number or a string in it is longer than `maxBits`. This must happen
 * before OpenSSL reads the key: reading a DSA key computes a power, which takes 8 s for a key of 32,768 bits and cannot
 * be interrupted.
 * @throws {RangeError} for a key that is too long, too deep or has too many elements.
 * @throws {Error} for a key that is not DER. BER of indefinite length is rejected, although OpenSSL reads it.
 */
export function requireBoundedDer(der: Uint8Array, maxBits: number): void {
  walk(der, { left: MAX_ELEMENTS, maxBits }, 0);
}

interface Bounds {
  left: number;
  readonly maxBits: number;
}

function walk(bytes: Uint8Array, bounds: Bounds, depth: number): void {
  if (depth > MAX_DEPTH) throw new RangeError("The key is nested too deep.");
  for (let offset = 0; offset < bytes.length; ) {
    const { tag, content, end } = readElement(bytes, offset);
    bounds.left -= 1;
    if (bounds.left < 0) throw new RangeError("The key has too many parts.");
    if ((tag & CONSTRUCTED) !== 0) walk(content, bounds, depth + 1);
    else if (!holdsElements(tag, content, bounds, depth)) requireShort(content, bounds);
    offset = end;
  }
}

/** The numbers of a private key are inside a string. A string that is not DER itself counts as one number. */
function holdsElements(tag: number, content: Uint8Array, bounds: Bounds, depth: number): boolean {
  if (tag !== BIT_STRING && tag !== OCTET_STRING) return false;
  // The first byte of a bit string counts its unused bits.
  const inner = tag === BIT_STRING ? content.subarray(1) : content;
  if (inner[0] !== SEQUENCE && inner[0] !== INTEGER) return false;
  try {
    walk(inner, bounds, depth + 1);
    return true;
  } catch (error) {
    if (error instanceof NotDer) return false;
    throw error;
  }
}

function requireShort(content: Uint8Array, { maxBits }: Bounds): void {
  // A number whose first bit is set has a zero byte before it.
  if (content.length <= maxBits / 8 + 1) return;
  throw new RangeError(`A key may have numbers of at most ${maxBits} bits here.`);
}

function readElement(bytes: Uint8Array, offset: number) {
  const [tag, first] = [bytes[offset], bytes[offset + 1]];
  if (tag === undefined || first === undefined || (tag & LONG_TAG) === LONG_TAG) throw new NotDer();
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  if (first === 0x80 || lengthBytes > 3) throw new NotDer();
  const start = offset + 2 + lengthBytes;
  const length =
    lengthBytes === 0 ? first : bytes.subarray(offset + 2, start).reduce((sum, byte) => sum * 256 + byte, 0);
  const end = start + length;
  if (end > bytes.length) throw new NotDer();
  return { tag, content: bytes.subarray(start, end), end };
}
