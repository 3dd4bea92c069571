import { isUtf8 } from "node:buffer";
import { invalid } from "../../base/fault.js";
import { type BodyFormat, charsetOf } from "../body-format.js";
import type { RequestReferences } from "../references.js";
import { placesInBytes } from "../splice/bytes.js";
import { type FindPlaces, UnwritableValue } from "../splice/place.js";
import { placesInUntypedText } from "../splice/plain.js";
import { hasWideReference } from "./reference-scanner.js";

/** Bytes of a body, or of a part of one, in which expressions are looked for. */
export interface SearchedBytes {
  readonly bytes: Buffer;
  readonly format: Exclude<BodyFormat, { readonly kind: "multipart" }>;
  readonly contentType: string | undefined;
  /** Stands before the line in errors: "part 2, ". Empty for a whole body. */
  readonly where: string;
  /** Told the bytes with the values in them. */
  take(bytes: Buffer): void;
}

/**
 * Looks for expressions in the format that the bytes have.
 * @throws {Fault} validation_failed naming `body`, for a malformed expression, and for one where no value can be put in.
 */
export function searchBytes(references: RequestReferences, searched: SearchedBytes): void {
  const { bytes, format, contentType } = searched;
  if (bytes.length === 0) return;
  if (hasWideReference(bytes)) throw invalid("body", `must be UTF-8 to hold references${inPart(searched)}`);
  const isText = isUtf8(bytes);
  if (format.kind === "unknown") {
    if (isText && looksLikeText(bytes)) searchText(references, searched, placesInUntypedText);
    else searchBinary(references, searched);
  } else if (isText) {
    searchText(references, searched, inCharset(charsetOf(contentType), format.find));
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
    ...{ field: "body", text, find },
    positionOf: (offset) => `${where}${lineAndColumn(text, offset)}`,
    take: (spliced) => take(Buffer.from(spliced)),
  });
}

function searchBinary(references: RequestReferences, { bytes, where, take }: SearchedBytes): void {
  if (!bytes.includes("{{")) return;
  references.scan({
    ...{ field: "body", text: bytes.toString("latin1"), find: placesInBytes },
    positionOf: (offset) => `${where}byte ${offset + 1}`,
    take: (spliced) => take(Buffer.from(spliced, "latin1")),
  });
}

/** Bytes below the blank that text does not hold, but for tab, line feed, form feed, carriage return and escape. */
const NO_TEXT = new Set([...Array(32).keys()].filter((byte) => ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte)));

/** How much of bytes is looked at. Files that are no text show it in their first bytes. */
const SAMPLE = 4_096;

/** Whether valid UTF-8 is text, and not data that happens to be valid. */
export function looksLikeText(bytes: Buffer): boolean {
  return !bytes.subarray(0, SAMPLE).some((byte) => NO_TEXT.has(byte));
}

/** Whether the first bytes of a body, of which the last character may be cut, are text. */
export function beginsLikeText(bytes: Buffer): boolean {
  // A character has at most four bytes: one of the last four positions is its beginning.
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

/** A body that names another encoding than UTF-8 takes values that are the same in both. */
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
