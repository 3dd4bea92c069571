import { invalid } from "../../base/fault.js";
import type { BodyHead } from "../../memory/collect-body.js";
import { type CallerBody, readCallerBody } from "../buffered-body.js";
import { canDecompress, Decompression, referenceInCompressedBody } from "./decompression.js";
import { GuardedBody, GuardedCompressedBody } from "./guarded-body.js";
import { isSentInPieces, MAX_BUFFERED_BYTES, readBodyHead } from "./incoming-body.js";
import { OutgoingBody } from "./outgoing-body.js";
import { completeUntil, ReferenceScanner } from "./reference-scanner.js";

/**
 * Searches a compressed body, which is sent unchanged: references in it cannot be replaced, so they refuse the call. A
 * body of unknown coding is searched as plain bytes.
 * @param codings at least one, from the inside out.
 * @param isWhole whether a transform needs the whole body.
 * @throws {Fault} validation_failed naming `body`; errors of {@link readCallerBody}.
 */
export async function searchCompressed(
  incoming: CallerBody,
  codings: readonly string[],
  isWhole: boolean,
): Promise<OutgoingBody> {
  const head: BodyHead = isWhole
    ? { bytes: await readCallerBody(incoming, MAX_BUFFERED_BYTES), rest: undefined }
    : await readBodyHead(incoming);
  const isChunked = !isWhole && isSentInPieces(incoming);
  const [coding = "", ...others] = codings;
  if (!codings.every(canDecompress)) return searchOpaque(head, isChunked);
  if (others.length > 0 && head.bytes.length > 0) {
    throw invalid(
      "headers.Content-Encoding",
      "must name one coding at most: a body that is compressed twice is not searched",
    );
  }
  return decompressAndSearch(head, coding, isChunked);
}

async function decompressAndSearch(
  { bytes, rest }: BodyHead,
  coding: string,
  isChunked: boolean,
): Promise<OutgoingBody> {
  const decompression = new Decompression(coding);
  await decompression.push(bytes);
  const known = { headLength: bytes.length, head: () => bytes };
  if (rest) {
    const guard = new GuardedCompressedBody(decompression);
    return new OutgoingBody({ ...known, rest: { carried: Buffer.alloc(0), stream: rest, guard } });
  }
  await decompression.end();
  return new OutgoingBody({ ...known, isChunked });
}

function searchOpaque({ bytes, rest }: BodyHead, isChunked: boolean): OutgoingBody {
  const scanner = new ReferenceScanner();
  scanner.push(bytes);
  if (scanner.hasFound) throw referenceInCompressedBody();
  if (!rest) return new OutgoingBody({ headLength: bytes.length, head: () => bytes, isChunked });
  const begun = bytes.subarray(0, completeUntil(bytes));
  const guarded = {
    carried: bytes.subarray(begun.length),
    stream: rest,
    guard: new GuardedBody(referenceInCompressedBody),
  };
  return new OutgoingBody({ headLength: begun.length, head: () => begun, rest: guarded });
}
