import { contentParameter } from "../body-format.js";

/** A range of bytes of a multipart body. All ranges in order make up the body. */
export type Region =
  /** Delimiters, the preamble and the epilogue. */
  | { readonly kind: "between"; readonly start: number; readonly end: number }
  /** The headers of a part, without the empty line after them. */
  | { readonly kind: "headers"; readonly start: number; readonly end: number; readonly part: PartHead }
  | { readonly kind: "content"; readonly start: number; readonly end: number; readonly part: PartHead };

export interface PartHead {
  /** From 1. */
  readonly number: number;
  readonly name: string | undefined;
  readonly fileName: string | undefined;
  readonly contentType: string | undefined;
  readonly transferEncoding: string | undefined;
}

/** Limit of parts in one body. Reading this many takes 40 ms (measured). */
const MAX_PARTS = 10_000;

/** Limit of a part's headers in bytes. Servers accept 8 to 16 KB. */
const MAX_HEAD = 16_384;

export class TooManyParts extends Error {
  override readonly name = "TooManyParts";
}

/**
 * Splits a multipart body (RFC 2046, 5.1.1), whose end may be missing. Accepts bare line feeds, as lenient servers do.
 * A body without delimiters is `between`.
 * @throws {TooManyParts}
 */
export function splitMultipart(body: Buffer, boundary: string): Region[] {
  const regions: Region[] = [];
  const delimiter = Buffer.from(`--${boundary}`, "latin1");
  let from = 0;
  let next = nextDelimiter(body, delimiter, 0);
  for (let number = 1; next && !next.isLast; number += 1) {
    if (number > MAX_PARTS) throw new TooManyParts();
    regions.push({ kind: "between", start: from, end: next.end });
    const head = headersFrom(body, next.end, delimiter);
    const part = readHead(body.toString("latin1", next.end, Math.min(head.end, next.end + MAX_HEAD)), number);
    const following = nextDelimiter(body, delimiter, head.contentStart);
    const end = following?.start ?? body.length;
    regions.push({ kind: "headers", start: next.end, end: head.end, part });
    regions.push({ kind: "between", start: head.end, end: head.contentStart });
    regions.push({ kind: "content", start: head.contentStart, end, part });
    from = end;
    next = following;
  }
  regions.push({ kind: "between", start: from, end: body.length });
  return regions;
}

interface Delimiter {
  /** Offset of the preceding line end, which belongs to the delimiter. */
  readonly start: number;
  /** Offset behind its own line end. */
  readonly end: number;
  /** The closing delimiter: no part follows. */
  readonly isLast: boolean;
}

const CR = 0x0d;
const LF = 0x0a;
const HYPHEN = 0x2d;

function nextDelimiter(body: Buffer, delimiter: Buffer, from: number): Delimiter | undefined {
  for (let at = body.indexOf(delimiter, from); at >= 0; at = body.indexOf(delimiter, at + 1)) {
    if (at > 0 && body[at - 1] !== LF) continue;
    let end = at + delimiter.length;
    const isLast = body[end] === HYPHEN && body[end + 1] === HYPHEN;
    if (isLast) end += 2;
    while (body[end] === 0x20 || body[end] === 0x09) end += 1;
    if (body[end] === CR) end += 1;
    if (body[end] !== LF && !isLast) continue;
    // The line end before a delimiter belongs to the delimiter. If a part begins with its delimiter, it belongs to the
    // head.
    const before = at > from && body[at - 1] === LF ? (at - 1 > from && body[at - 2] === CR ? 2 : 1) : 0;
    return { start: at - before, end: body[end] === LF ? end + 1 : end, isLast };
  }
  return undefined;
}

/**
 * The end of the headers that begin here, and the start of the content. A part without an empty line has no content.
 */
function headersFrom(body: Buffer, start: number, delimiter: Buffer) {
  for (let at = start; ; ) {
    if (body.subarray(at, at + delimiter.length).equals(delimiter)) return { end: at, contentStart: at };
    const lineEnd = body.indexOf(LF, at);
    if (lineEnd < 0) return { end: body.length, contentStart: body.length };
    const isEmpty = lineEnd === at || (lineEnd === at + 1 && body[at] === CR);
    if (isEmpty) return { end: at, contentStart: lineEnd + 1 };
    at = lineEnd + 1;
  }
}

function readHead(headers: string, number: number): PartHead {
  const disposition = headerIn(headers, "content-disposition") ?? "";
  return {
    number,
    name: contentParameter(disposition, "name"),
    fileName: contentParameter(disposition, "filename") ?? contentParameter(disposition, "filename*"),
    contentType: headerIn(headers, "content-type"),
    transferEncoding: headerIn(headers, "content-transfer-encoding")?.toLowerCase(),
  };
}

/** A header's value, including continuation lines. */
function headerIn(headers: string, name: string): string | undefined {
  const value = new RegExp(`^${name}[ \\t]*:((?:.|\\r?\\n[ \\t])*)`, "im").exec(headers)?.[1];
  return value?.replaceAll(/\r?\n[ \t]/g, " ").trim();
}
