/** An element of DER (ITU-T X.690). */
export interface Der {
  readonly tag: number;
  readonly content: Buffer;
  /** The whole element, with tag and length. */
  readonly bytes: Buffer;
}

/** Bytes that are not DER, or not the expected structure. */
export class NotDer extends Error {
  override readonly name = "NotDer";
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  octets: 0x04,
  oid: 0x06,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** Constructed, context-specific. */
  context0: 0xa0,
  context1: 0xa1,
} as const;

/** Reads one element that takes all bytes. @throws {NotDer} */
export function readDer(bytes: Uint8Array): Der {
  const [only, ...more] = readAll(bytes);
  if (!only || more.length > 0) throw new NotDer("one element is expected");
  return only;
}

/** The elements inside a constructed one. @throws {NotDer} unless it has the tag. */
export function childrenOf(element: Der | undefined, tag: number): Der[] {
  return readAll(contentOf(element, tag));
}

/** @throws {NotDer} unless the element is there and has the tag. */
export function contentOf(element: Der | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new NotDer(`an element with tag ${tag} is missing`);
  return element.content;
}

/** An object identifier in dotted form. @throws {NotDer} */
export function oidOf(element: Der | undefined): string {
  const content = contentOf(element, TAG.oid);
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    arc = arc * 128 + (byte & 0x7f);
    if (!Number.isSafeInteger(arc)) throw new NotDer("an object identifier is too long");
    if (byte & 0x80) continue;
    arcs.push(arc);
    arc = 0;
  }
  const [first = 0, ...rest] = arcs;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - 40 * root, ...rest].join(".");
}

export function writeDer(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 128) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const digits = content.length.toString(16);
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), "0"), "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, content]);
}

/** @param dotted such as 1.2.840.113549. */
export function writeOid(dotted: string): Buffer {
  const [root = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [40 * root + second, ...rest].flatMap((arc) => {
    const digits = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) digits.unshift(128 + (left % 128));
    return digits;
  });
  return writeDer(TAG.oid, Buffer.from(bytes));
}

function readAll(bytes: Uint8Array): Der[] {
  const found: Der[] = [];
  let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  while (rest.length > 0) {
    const element = readFirst(rest);
    found.push(element);
    rest = rest.subarray(element.bytes.length);
  }
  return found;
}

function readFirst(bytes: Buffer): Der {
  const [tag = 0, first = 0] = bytes;
  if (bytes.length < 2 || (tag & 0x1f) === 0x1f) throw new NotDer("a tag is expected");
  // 0x80 is an indefinite length, which DER does not have.
  const digits = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80 || digits > 3 || bytes.length < 2 + digits) throw new NotDer("a length is expected");
  const length = digits === 0 ? first : bytes.readUIntBE(2, digits);
  const least = digits === 0 ? 0 : digits === 1 ? 0x80 : 256 ** (digits - 1);
  const end = 2 + digits + length;
  if (length < least || end > bytes.length) throw new NotDer("a length is wrong");
  return { tag, content: bytes.subarray(2 + digits, end), bytes: bytes.subarray(0, end) };
}
