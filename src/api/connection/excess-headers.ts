import type { IncomingMessage } from "node:http";
import { Fault } from "../../base/fault.js";
import type { ConnectionLimits } from "./connection-limits.js";
import { isOverHttp2, type StreamRequest } from "./stream-exchange.js";

/** RFC 9113, 6.5.2: what each header counts beside its name and value. */
const BYTES_PER_HEADER = 32;

export function headersTooLarge({ headerBytes, headerCount }: ConnectionLimits): Fault {
  return new Fault(
    "headers_too_large",
    `Address and headers must not be larger than ${headerBytes} bytes together, in at most ${headerCount} headers.`,
  );
}

/** Whether a request over HTTP/2 exceeds the limits of headers. Over HTTP/1.1 Node's parser enforces them. */
export function hasExcessHeaders(
  request: IncomingMessage | StreamRequest,
  { headerBytes, headerCount }: ConnectionLimits,
): boolean {
  if (!isOverHttp2(request)) return false;
  const rawHeaders: readonly string[] = request.rawHeaders;
  const count = rawHeaders.length / 2;
  if (count > headerCount) return true;
  return rawHeaders.reduce((bytes, text) => bytes + text.length, count * BYTES_PER_HEADER) > headerBytes;
}
