import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { Fault } from "../base/fault.js";
import type { HeaderPair } from "../egress/request-framing.js";
import type { RequestMemory } from "../memory/request-memory.js";
import { type HeadedBody, readResponseBody } from "./buffered-body.js";
import { headerValues } from "./forward.js";

const DECODERS: Readonly<Record<string, (bytes: Buffer, most: number) => Promise<Buffer>>> = {
  gzip: (bytes, most) => promisify(gunzip)(bytes, { maxOutputLength: most }),
  "x-gzip": (bytes, most) => promisify(gunzip)(bytes, { maxOutputLength: most }),
  br: (bytes, most) => promisify(brotliDecompress)(bytes, { maxOutputLength: most }),
  deflate: (bytes, most) => promisify(inflate)(bytes, { maxOutputLength: most }),
};

/**
 * A destination's response as code sees it and the caller gets it: decompressed.
 * @throws {Fault} destination_unreachable for one that is too large, which no caller can fix; unprocessable for one
 * that does not match its coding; errors of {@link readAnswerBody}.
 */
export async function decodedBody(
  response: HeadedBody,
  most: number,
  memory: RequestMemory,
): Promise<{ readonly headers: HeaderPair[]; readonly body: Buffer }> {
  const { headers } = response;
  const bytes = await readResponseBody(response, most, memory).catch((error: unknown) => {
    throw error instanceof Fault && error.code === "body_too_large" ? responseTooLarge(most) : error;
  });
  const encoding = headerValues(headers, "content-encoding").join(", ").trim().toLowerCase();
  const kept = headers.filter(([name]) => !["content-encoding", "content-length"].includes(name.toLowerCase()));
  if (encoding === "" || encoding === "identity" || bytes.length === 0) return { headers: kept, body: bytes };
  const decode = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined;
  if (!decode)
    throw new Fault(
      "unprocessable",
      "The destination's response has an encoding that cannot be undone for a transform.",
    );
  const decoded = await decode(bytes, most).catch((error: unknown) => {
    if (error instanceof RangeError) throw responseTooLarge(most);
    throw new Fault("unprocessable", "The destination's response is not encoded as it says.");
  });
  memory.reserveNow(decoded.length);
  return { headers: kept, body: decoded };
}

function responseTooLarge(most: number): Fault {
  const text = `The destination's response has more than the ${most} bytes that a response transform takes.`;
  return new Fault("destination_unreachable", text);
}
