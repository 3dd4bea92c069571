import type { ArrivedRequest } from "../connection/exchange.js";

/** The announced length of a request's body; undefined if unknown. */
export function announcedLength({ headers, httpVersionMajor }: ArrivedRequest): number | undefined {
  const announced = headers["content-length"];
  // RFC 9112, 6.3: an HTTP/1.1 request without length and coding has no body.
  if (announced === undefined)
    return httpVersionMajor < 2 && headers["transfer-encoding"] === undefined ? 0 : undefined;
  return /^\d{1,15}$/.test(announced) ? Number(announced) : undefined;
}
