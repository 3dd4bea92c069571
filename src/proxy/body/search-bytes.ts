import { isUtf8 } from "node:buffer";
import { invalid } from "../../base/fault.js";
import { type BodyFormat, contentCharset } from "../body-format.js";
import type { RequestReferences } from "../references.js";
import { placesInBytes } from "../splice/bytes.js";
import { type FindPlaces, UnwritableValue } from "../splice/place.js";
import { placesInUntypedText } from "../splice/plain.js";
import { hasUtf16Reference } from "./reference-scanner.js";

export interface SearchedBytes {
  readonly bytes: Buffer;
  readonly format: Exclude<BodyFormat, { readonly kind: "multipart" }>;
  readonly contentType: string | undefined;
  /** Prefix of the position in errors: "part 2, ". Empty for a whole body. */
  readonly where: string;
  /** Receives the bytes with references replaced. */
  take(bytes: Buffer): void;
}

/**
 * Searches bytes for expressions in the format of the bytes.
 * @throws {Fault} validation_failed naming `body`, for an expression that is malformed or cannot be replaced there.
 */
export function searchBytes(references: RequestReferences, searched: SearchedBytes): void {
  const { bytes, format, contentType } = searched;
  if (bytes.length === 0) return;
  if (hasUtf16Reference(bytes)) throw invalid("body", `must be UTF-8 to hold references${inPart(searched)}`);
  const isText = isUtf8(bytes);
  if (format.kind === "unknown") {
    if (isText && looksLikeText(bytes)) searchText(references, searched, placesInUntypedText);
    else searchBinary(references, searched);
  } else if (isText) {
    searchText(references, searched, inCharset(contentCharset(contentType), format.find));
  } else if (bytes.includes("{{")) {
    throw invalid("body", `must be UTF-8 to hold expressions${inPart(searched)}`);
  }
}

function inPart({ where }: SearchedBytes): string {
  return where === "" ? "" : ` (${where.replace(/, $/, "")})`;
}

function searchText(references: RequestReferences, { bytes, where, take }: SearchedBytes, find: FindPlaces): void {
  const text = bytes.toString("utf8");
  references.scan({
    field: "body",
    text,
    find,
    positionOf: (offset) => `${where}${lineAndColumn(text, offset)}`,
    take: (spliced) => take(Buffer.from(spliced)),
  });
}

function searchBinary(references: RequestReferences, { bytes, where, take }: SearchedBytes): void {
  if (!bytes.includes("{{")) return;
  references.scan({
    field: "body",
    text: bytes.toString("latin1"),
    find: placesInBytes,
    positionOf: (offset) => `${where}byte ${offset + 1}`,
    take: (spliced) => take(Buffer.from(spliced, "latin1")),
  });
}

/** Control characters that text does not have: all but tab, line feed, form feed, carriage return and escape. */
const NO_TEXT = new Set([...Array(32).keys()].filter((byte) => ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte)));

/** Number of bytes to examine. Binary files show in their first bytes. */
const SAMPLE = 4_096;

/** Whether valid UTF-8 is text rather than data that happens to be valid. */
function looksLikeText(bytes: Buffer): boolean {
  return !bytes.subarray(0, SAMPLE).some((byte) => NO_TEXT.has(byte));
}

/** Whether the first bytes of a body, possibly with a truncated character at the end, are text. */
export function beginsLikeText(bytes: Buffer): boolean {
  // A character has at most four bytes, so one of the last four positions starts it.
  for (let cut = 0; cut < 4 && cut <= bytes.length; cut += 1) {
    if (isUtf8(bytes.subarray(0, bytes.length - cut))) return looksLikeText(bytes);
  }
  return false;
}

function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const lines = before.split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** A body in another charset than UTF-8 accepts values that are the same in both. */
function inCharset(charset: string | undefined, find: FindPlaces): FindPlaces {
  if (charset === undefined || /^(?:utf-?8|us-ascii|ascii)$/.test(charset)) return find;
  return function* (text) {
    for (const place of find(text)) {
      yield {
        ...place,
        write(value) {
          const written = place.write(value);
          if (isAscii(written)) return written;
          throw new UnwritableValue("must name the charset utf-8 to take a value that is not ASCII");
        },
      };
    }
  };
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
