import type { IncomingMessage } from "node:http";

/**
 * Connect makes a URL of every request, which neither it nor we look at. Where that fails, for want of a Host or by an
 * odd one, the call would be answered with an empty 200: a success, in some of its protocols. Such a request is given an
 * address that can be read.
 *
 * @param path of the method that it calls.
 */
export function makeAddressReadable(request: IncomingMessage, path: string): void {
  const { headers, url = "" } = request;
  // HTTP/2 refuses what is no authority by itself.
  const authority = headers[":authority"] ?? headers.host;
  if (authority !== undefined && URL.canParse(url, `http://${String(authority)}`)) return;
  headers.host = "localhost";
  request.url = path;
}
