import type { IncomingMessage } from "node:http";
import { isOverHttp2, type StreamRequest } from "./stream-exchange.js";

/**
 * Why intermediaries and this server could read a request differently, in words for its sender; undefined for an
 * unambiguous one. Node rejects most such requests itself: two lengths, a length beside chunks, folded headers, bare
 * line feeds. These are the rest (RFC 9112, 2.3, 3.2 and 6.1; RFC 9113, 8.3.1).
 */
export function findAmbiguity(request: IncomingMessage | StreamRequest): string | undefined {
  const { headers, rawHeaders, httpVersion } = request;
  const hosts = hostsIn(rawHeaders);
  if (hosts.length > 1) return "The request has more than one Host header.";
  if (isOverHttp2(request)) {
    const authority = headers[":authority"];
    const [host] = hosts;
    const isSame = host === undefined || authority === undefined || host.toLowerCase() === authorityOf(authority);
    return isSame ? undefined : "The Host header and :authority name different hosts.";
  }
  const coding = headers["transfer-encoding"];
  // 0.9 has no headers, and 2.0 on an HTTP/1.1 connection would get a response by the rules of another protocol.
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "This server speaks HTTP/1.0, HTTP/1.1 and HTTP/2.";
  if (httpVersion === "1.1" && hosts.length === 0) return "A request in HTTP/1.1 needs a Host header.";
  if (coding === undefined) return undefined;
  if (httpVersion === "1.0") return "A request in HTTP/1.0 cannot have a Transfer-Encoding.";
  return coding.toLowerCase() === "chunked" ? undefined : "The only supported Transfer-Encoding is chunked.";
}

/** `headers` has only the first of several. */
function hostsIn(rawHeaders: readonly string[]): string[] {
  const hosts: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts.push(rawHeaders[at + 1] ?? "");
  }
  return hosts;
}

function authorityOf(header: string | string[]): string {
  return String(header).toLowerCase();
}
