import { Fault, invalid } from "../../base/fault.js";
import { detectBodyFormat } from "../body-format.js";
import type { RequestReferences } from "../references.js";
import { placesInPartHeader } from "../splice/header.js";
import { type PartHead, type Region, splitMultipart, TooManyParts } from "./multipart.js";
import { ReferenceScanner } from "./reference-scanner.js";
import { searchBytes } from "./search-bytes.js";

/** Depth to which nested multipart bodies are parsed. Deeper ones are searched as bytes. */
const MAX_DEPTH = 3;

interface Nesting {
  /** Prefix of the position in errors: "part 2, ". Empty for a whole body. */
  readonly where: string;
  readonly depth: number;
}

const OUTERMOST: Nesting = { where: "", depth: 1 };

/** A multipart body with each part searched in its own format. */
export class SearchedMultipart {
  readonly #body: Buffer;
  readonly #delimiter: string;
  readonly #regions: readonly Region[];
  readonly #references: RequestReferences;
  readonly #nesting: Nesting;
  /** Replaced regions, by index. */
  readonly #changed = new Map<number, Buffer>();

  /** @throws {Fault} validation_failed naming `body`: see {@link searchBytes}; also for too many parts. */
  constructor(references: RequestReferences, body: Buffer, boundary: string, nesting: Nesting = OUTERMOST) {
    this.#references = references;
    this.#nesting = nesting;
    this.#body = body;
    this.#delimiter = `--${boundary}`;
    this.#regions = regionsOf(body, boundary);
    for (const [index, region] of this.#regions.entries()) this.#search(region, index);
  }

  /**
   * The body with references replaced. Content-Length headers of parts are updated.
   * @throws {Fault} validation_failed if a value contains the delimiter: it would begin a part of its own.
   */
  assemble(): Buffer {
    if (this.#changed.size === 0) return this.#body;
    const pieces = this.#regions.map((region, index) => this.#pieceOf(region, index));
    for (const [index, changed] of this.#changed) {
      const region = this.#regions[index];
      if (region && this.#delimitersIn(changed) > this.#delimitersIn(this.#regionBytes(region))) {
        throw invalid("body", "must have another boundary: a value holds the one between its parts");
      }
    }
    return Buffer.concat(pieces);
  }

  #search(region: Region, index: number): void {
    const references = this.#references;
    const { where, depth } = this.#nesting;
    const bytes = this.#regionBytes(region);
    const take = (changed: Buffer) => void this.#changed.set(index, changed);
    if (region.kind === "between") {
      searchBytes(references, { bytes, format: { kind: "unknown" }, contentType: undefined, where, take });
      return;
    }
    const inPart = `${where}${partName(region.part)}, `;
    if (region.kind === "headers") {
      searchHeaders(references, bytes, inPart, take);
      return;
    }
    const { contentType, transferEncoding, fileName } = region.part;
    if (transferEncoding === "base64" || transferEncoding === "quoted-printable") {
      refuseEncodedReference(bytes, transferEncoding, partName(region.part));
    }
    // A form field without a type is text (RFC 7578, 4.4); a file without one may be anything.
    const format = detectBodyFormat(contentType ?? (fileName === undefined ? "text/plain" : undefined));
    if (format.kind !== "multipart") {
      searchBytes(references, { bytes, format, contentType, where: inPart, take });
    } else if (depth < MAX_DEPTH) {
      const inner = new SearchedMultipart(references, bytes, format.boundary, { where: inPart, depth: depth + 1 });
      references.afterwards(() => {
        const assembled = inner.assemble();
        if (assembled !== bytes) take(assembled);
      });
    } else {
      searchBytes(references, { bytes, format: { kind: "unknown" }, contentType, where: inPart, take });
    }
  }

  #pieceOf(region: Region, index: number): Buffer {
    const own = this.#changed.get(index) ?? this.#regionBytes(region);
    if (region.kind !== "headers") return own;
    // The content follows its headers, after the empty line.
    const content = this.#regions[index + 2];
    const changed = this.#changed.get(index + 2);
    return content && changed ? withLength(own, changed.length - (content.end - content.start)) : own;
  }

  #regionBytes({ start, end }: Region): Buffer {
    return this.#body.subarray(start, end);
  }

  #delimitersIn(bytes: Buffer): number {
    let count = 0;
    for (let at = bytes.indexOf(this.#delimiter); at >= 0; at = bytes.indexOf(this.#delimiter, at + 1)) count += 1;
    return count;
  }
}

function regionsOf(body: Buffer, boundary: string): Region[] {
  try {
    return splitMultipart(body, boundary);
  } catch (error) {
    throw error instanceof TooManyParts
      ? new Fault("validation_failed", "A multipart body has too many parts.", {
          fields: { body: ["must have at most 10000 parts"] },
        })
      : error;
  }
}

/** Longer names are cut in errors. */
const MAX_NAME_LENGTH = 50;

function partName({ number, name }: PartHead): string {
  if (name === undefined || name === "") return `part ${number}`;
  return `part ${number} "${Buffer.from(name, "latin1").toString("utf8").slice(0, MAX_NAME_LENGTH)}"`;
}

function searchHeaders(
  references: RequestReferences,
  bytes: Buffer,
  where: string,
  take: (bytes: Buffer) => void,
): void {
  if (!bytes.includes("{{")) return;
  references.scan({
    field: "body",
    text: bytes.toString("latin1"),
    find: placesInPartHeader,
    positionOf: () => `${where}headers`,
    take: (spliced) => take(Buffer.from(spliced, "latin1")),
  });
}

/** @throws {Fault} validation_failed for a part whose transfer encoding hides a reference. */
function refuseEncodedReference(bytes: Buffer, encoding: "base64" | "quoted-printable", part: string): void {
  const decoded =
    encoding === "base64"
      ? Buffer.from(bytes.toString("latin1"), "base64")
      : Buffer.from(unquoted(bytes.toString("latin1")), "latin1");
  const scanner = new ReferenceScanner();
  scanner.push(decoded);
  if (scanner.hasFound) {
    throw invalid(
      "body",
      `must not hold references in a part with a Content-Transfer-Encoding of ${encoding} (${part})`,
    );
  }
}

/** Decodes quoted-printable (RFC 2045, 6.7). */
function unquoted(text: string): string {
  return text
    .replaceAll(/=[ \t]*\r?\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(String(hex), 16)));
}

const LENGTH = /^(content-length[ \t]*:[ \t]*)(\d{1,15})([ \t]*)$/im;

function withLength(headers: Buffer, longer: number): Buffer {
  const text = headers.toString("latin1");
  if (longer === 0 || !LENGTH.test(text)) return headers;
  const changed = text.replace(LENGTH, (_, name, length, end) => `${name}${Number(length) + longer}${end}`);
  return Buffer.from(changed, "latin1");
}
