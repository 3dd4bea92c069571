import type { IncomingMessage } from "node:http";

/** The announced length of a request's body; undefined if unknown. */
export function contentLengthOf({ headers, httpVersionMajor }: IncomingMessage): number | undefined {
  const announced = headers["content-length"];
  // RFC 9112, 6.3: an HTTP/1.1 request without length and coding has no body.
  if (announced === undefined)
    return httpVersionMajor < 2 && headers["transfer-encoding"] === undefined ? 0 : undefined;
  return /^\d{1,15}$/.test(announced) ? Number(announced) : undefined;
}
