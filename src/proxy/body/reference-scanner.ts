import { isAscii } from "node:buffer";
import { isReference, MAX_REFERENCE_LENGTH } from "../splice/bytes.js";

/** Double braces in one encoding of text. */
interface Encoding {
  readonly open: Buffer;
  readonly close: Buffer;
  /** Longest reference between the braces, in bytes. */
  readonly longest: number;
  /** The text of bytes, or undefined if they are invalid in this encoding. */
  decode(bytes: Buffer): string | undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

const ENCODINGS: readonly Encoding[] = [
  {
    open: Buffer.from("{{"),
    close: Buffer.from("}}"),
    longest: MAX_REFERENCE_LENGTH,
    decode(bytes) {
      if (isAscii(bytes)) return bytes.toString("latin1");
      try {
        return utf8.decode(bytes);
      } catch {
        return undefined;
      }
    },
  },
  wideEncoding((bytes) => bytes),
  wideEncoding((bytes) => Buffer.from(bytes).swap16()),
];

/** UTF-16; `inOrder` converts bytes to the byte order that Node reads. */
function wideEncoding(inOrder: (bytes: Buffer) => Buffer): Encoding {
  return {
    open: inOrder(Buffer.from("{{", "utf16le")),
    close: inOrder(Buffer.from("}}", "utf16le")),
    longest: MAX_REFERENCE_LENGTH * 2,
    decode: (bytes) => (bytes.length % 2 === 0 ? inOrder(bytes).toString("utf16le") : undefined),
  };
}

/** Whether bytes have a reference in UTF-16, where references cannot be replaced. */
export function hasUtf16Reference(bytes: Buffer): boolean {
  // UTF-8 text has no zeros, and almost every body is UTF-8.
  return bytes.includes(0) && ENCODINGS.slice(1).some((encoding) => search(bytes, encoding).isFound);
}

/** The offset up to which bytes have no incomplete reference. */
export function completeUntil(bytes: Buffer): number {
  return Math.min(...ENCODINGS.map((encoding) => lastOpening(bytes, encoding)));
}

/**
 * Searches a stream of bytes for references. Holds back the possible beginning of a reference until its end arrives, at
 * most 8 KB: no part of a reference passes.
 */
export class ReferenceScanner {
  #held: Buffer = Buffer.alloc(0);
  #hasFound = false;

  get hasFound(): boolean {
    return this.#hasFound;
  }

  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let end = bytes.length;
    for (const encoding of ENCODINGS) {
      const { isFound, openFrom } = search(bytes, encoding);
      if (isFound) {
        this.#hasFound = true;
        return Buffer.alloc(0);
      }
      end = Math.min(end, openFrom);
    }
    // A copy: a slice would keep the whole chunk in memory.
    this.#held = end === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(end));
    return bytes.subarray(0, end);
  }

  end(): Buffer {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held;
  }
}

/** @returns whether there is a reference, and the offset at which an incomplete one may begin. */
function search(bytes: Buffer, encoding: Encoding) {
  const { open, close, longest } = encoding;
  let from = 0;
  for (;;) {
    const opening = bytes.indexOf(open, from);
    const end = opening < 0 ? -1 : bytes.indexOf(close, opening + open.length);
    if (end < 0) break;
    // The last opening before the end, searched no further back than this opening.
    const begin = bytes.lastIndexOf(open, end - open.length) + open.length;
    const length = end - begin;
    if (length >= SHORTEST && length <= longest && isReferenceIn(bytes.subarray(begin, end), encoding)) {
      return { isFound: true, openFrom: 0 };
    }
    from = end + close.length;
  }
  return { isFound: false, openFrom: from + lastOpening(bytes.subarray(from), encoding) };
}

/** Length of the shortest reference in bytes. */
const SHORTEST = 3;

function isReferenceIn(bytes: Buffer, { decode }: Encoding): boolean {
  const text = decode(bytes);
  return text !== undefined && isReference(text);
}

/** The offset at which an incomplete reference may begin: at an opening, or at a part of one. */
function lastOpening(bytes: Buffer, { open, close, longest }: Encoding): number {
  const from = Math.max(0, bytes.length - longest - open.length - close.length);
  const begun = bytes.subarray(from).lastIndexOf(open);
  if (begun < 0 || bytes.includes(close, from + begun + open.length)) return bytes.length - referencePart(bytes, open);
  return from + begun;
}

/** Number of bytes at the end that begin an opening. */
function referencePart(bytes: Buffer, open: Buffer): number {
  for (let length = Math.min(open.length - 1, bytes.length); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(open.subarray(0, length))) return length;
  }
  return 0;
}
