import type { IncomingMessage } from "node:http";

/** The length of the body of a request, where it is known beforehand. */
export function announcedBytes({ headers, httpVersionMajor }: IncomingMessage): number | undefined {
  const announced = headers["content-length"];
  // RFC 9112, 6.3: over HTTP/1.1 a request of neither length nor coding has no body.
  if (announced === undefined)
    return httpVersionMajor < 2 && headers["transfer-encoding"] === undefined ? 0 : undefined;
  return /^\d{1,15}$/.test(announced) ? Number(announced) : undefined;
}
