import { isUtf8 } from "node:buffer";
import { invalid } from "../../base/fault.js";
import type { HeaderPair } from "../../egress/request-framing.js";
import type { BodyHead } from "../../memory/collect-body.js";
import { type BodyFormat, detectBodyFormat, readContentCodings } from "../body-format.js";
import { type CallerBody, contentLengthIn, readCallerBody, readCallerHead } from "../buffered-body.js";
import { headerValues } from "../forward.js";
import type { RequestReferences } from "../references.js";
import { placesInTextPrefix } from "../splice/plain.js";
import { GuardedBody } from "./guarded-body.js";
import { HEAD_BYTES, isSentInPieces, MAX_BUFFERED_BYTES, readBodyHead } from "./incoming-body.js";
import { OutgoingBody } from "./outgoing-body.js";
import { completeUntil } from "./reference-scanner.js";
import { beginsLikeText, type SearchedBytes, searchBytes } from "./search-bytes.js";
import { searchCompressed } from "./search-compressed.js";
import { SearchedMultipart } from "./searched-multipart.js";

/**
 * Finds the references of a body of any type. Text is read completely. Of other bodies above 5 MB only the beginning is
 * searched, and the rest streams through a guard: replacing references changes the length, which the request's head
 * announces.
 * @param isWhole whether a transform needs the whole body.
 * @throws {Fault} validation_failed naming `body`, for an expression that is malformed or cannot be replaced there;
 * errors of {@link readCallerBody}.
 */
export async function searchBody(
  incoming: CallerBody,
  references: RequestReferences,
  isWhole: boolean,
): Promise<OutgoingBody> {
  const contentType = singleContentType(incoming.headers);
  const codings = headerValues(incoming.headers, "content-encoding").flatMap(readContentCodings);
  if (codings.length > 0) return searchCompressed(incoming, codings, isWhole);
  const format = detectBodyFormat(contentType);
  const head = await readFor(incoming, format, isWhole);
  if (!head.rest) {
    const isChunked = !isWhole && format.kind !== "text" && isSentInPieces(incoming);
    return searchWhole(references, { bytes: head.bytes, format, contentType }, isChunked);
  }
  // Never more than promised, however much arrived at once: what works once must always work.
  const first = head.bytes.subarray(0, HEAD_BYTES);
  const begun = wholeCharacters(first.subarray(0, completeUntil(first)));
  const searched = searchWhole(references, { bytes: begun, format: beginningFormat(format, begun), contentType });
  const guard = new GuardedBody(() => invalid("body", TOO_LATE));
  const rest = { carried: head.bytes.subarray(begun.length), stream: head.rest, guard };
  return new OutgoingBody({ headLength: begun.length, head: () => searched.head, rest });
}

const TOO_LATE =
  "must hold its references within its first 64 KB, since it has more than 5 MB or is no text: put the parts with references first";

/** @throws {Fault} validation_failed for several types: the destination may read the body by another one than this search. */
function singleContentType(headers: readonly HeaderPair[]): string | undefined {
  const [type, ...others] = new Set(headerValues(headers, "content-type"));
  if (others.length > 0) throw invalid("headers.Content-Type", "must be sent once, since it says how to read the body");
  return type;
}

/** Reads the part of a body that is searched before the request begins. */
async function readFor(incoming: CallerBody, format: BodyFormat, isWhole: boolean): Promise<BodyHead> {
  const { headers, memory } = incoming;
  if (isWhole || format.kind === "text")
    return { bytes: await readCallerBody(incoming, MAX_BUFFERED_BYTES), rest: undefined };
  const begun = await readBodyHead(incoming);
  const length = contentLengthIn(headers);
  const isLarge = (length ?? 0) > MAX_BUFFERED_BYTES || memory.allowance.maxBytes < MAX_BUFFERED_BYTES;
  if (!begun.rest || isLarge || (format.kind === "unknown" && !beginsLikeText(begun.bytes.subarray(0, HEAD_BYTES))))
    return begun;
  // One byte above the limit shows that the body is larger.
  const read = begun.bytes.length;
  const left = length === undefined ? undefined : length - read;
  const more = await readCallerHead(begun.rest, memory, MAX_BUFFERED_BYTES + 1 - read, left);
  return { bytes: Buffer.concat([begun.bytes, more.bytes]), rest: more.rest };
}

function searchWhole(
  references: RequestReferences,
  { bytes, format, contentType }: Pick<SearchedBytes, "bytes" | "contentType"> & { readonly format: BodyFormat },
  isChunked = false,
): OutgoingBody {
  const headLength = bytes.length;
  if (format.kind === "multipart") {
    const multipart = new SearchedMultipart(references, bytes, format.boundary);
    return new OutgoingBody({ headLength, head: () => multipart.assemble(), isChunked });
  }
  let head = bytes;
  const take = (spliced: Buffer) => {
    head = spliced;
  };
  searchBytes(references, { bytes, format, contentType, where: "", take });
  return new OutgoingBody({ headLength, head: () => head, isChunked });
}

/** The format of the beginning of a body, which cannot be parsed as a whole. */
function beginningFormat(format: BodyFormat, begun: Buffer): BodyFormat {
  return format.kind === "unknown" && beginsLikeText(begun) ? { kind: "text", find: placesInTextPrefix } : format;
}

/** Drops a truncated character at the end of text; other bytes stay. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let cut = 0; cut < 4 && cut <= bytes.length; cut += 1) {
    const whole = bytes.subarray(0, bytes.length - cut);
    if (isUtf8(whole)) return whole;
  }
  return bytes;
}
