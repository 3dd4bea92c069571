import type { IncomingMessage } from "node:http";

/**
 * Connect makes a URL of every request, which neither it nor we use. If that fails, because Host is missing or invalid,
 * the call would get an empty 200: a success, in some of its protocols. This gives such a request a valid address.
 * @param path of the called method.
 */
export function ensureParsableUrl(request: IncomingMessage, path: string): void {
  const { headers, url = "" } = request;
  // HTTP/2 rejects invalid authorities by itself.
  const authority = headers[":authority"] ?? headers.host;
  if (authority !== undefined && URL.canParse(url, `http://${String(authority)}`)) return;
  headers.host = "localhost";
  request.url = path;
}
