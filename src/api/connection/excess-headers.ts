import type { IncomingMessage } from "node:http";
import { Http2ServerRequest } from "node:http2";
import { Fault } from "../../base/fault.js";
import type { ConnectionLimits } from "./connection-limits.js";

/** RFC 9113, 6.5.2: what each header counts beside its name and value. */
const BYTES_PER_HEADER = 32;

export function headersTooLarge({ headerBytes, headerCount }: ConnectionLimits): Fault {
  return new Fault(
    "headers_too_large",
    `Address and headers must not be larger than ${headerBytes} bytes together, in at most ${headerCount} headers.`,
  );
}

/** Whether a request over HTTP/2 exceeds the limits of headers. Over HTTP/1.1 Node's parser enforces them. */
export function hasExcessHeaders(request: IncomingMessage, { headerBytes, headerCount }: ConnectionLimits): boolean {
  if (!(request instanceof Http2ServerRequest)) return false;
  const { rawHeaders } = request;
  const count = rawHeaders.length / 2;
  if (count > headerCount) return true;
  return rawHeaders.reduce((bytes, text) => bytes + text.length, count * BYTES_PER_HEADER) > headerBytes;
}
