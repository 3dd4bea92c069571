import { type IncomingMessage, type ServerResponse, validateHeaderValue } from "node:http";
import { Fault } from "../../base/fault.js";
import type { HeaderPair } from "../../egress/request-framing.js";
import type { ProxyResponse } from "../../proxy/call.js";
import { DestinationFailed } from "../../proxy/destination-failed.js";
import { passedHeaders } from "../browser/origin-headers.js";

/** The destination's own status; absent if it was not called or did not respond. */
export const DESTINATION_STATUS = "BT-PROXY-DESTINATION-STATUS";

/**
 * Headers that only the vault sets: otherwise a destination could disguise its failure as the vault's, or the reverse.
 */
const OURS = new Set([DESTINATION_STATUS.toLowerCase(), "bt-trace-id"]);

/** Valid reason phrases (RFC 9112, 4). */
const REASON_PHRASE = /^[\t\x20-\x7e\x80-\xff]+$/;

/**
 * Checks that a response can be sent before any of it is passed on, because a destination controls its content.
 * @throws {DestinationFailed}
 */
export function requireSendable({ status, headers, destinationStatus }: ProxyResponse): void {
  try {
    if (status < 200) throw new Error("no final status");
    for (const [name, value] of headers) validateHeaderValue(name, value);
  } catch {
    const fault = new Fault("destination_unreachable", "The destination's response is not valid HTTP.");
    throw new DestinationFailed(fault, destinationStatus);
  }
}

/**
 * Sends the head of a response: our headers, and the destination's without those that act on the vault's origin
 * (origin-headers.ts; for browsers also `Set-Cookie`). A header of the destination replaces ours of the same name.
 */
export function writeHead(response: ServerResponse, returned: ProxyResponse, request: IncomingMessage): void {
  const isHttp1 = request.httpVersionMajor === 1;
  const passes = passedHeaders(request.headers);
  const theirs = grouped(returned.headers.filter(([name, value]) => passes(name, value)));
  for (const name of OURS) theirs.delete(name);
  // A 204 has neither body nor length (RFC 9110, 8.6); over HTTP/2 Node sends no body for a 205 either, and clients
  // reset a stream that announces more than it has.
  const hasLength = returned.status !== 204 && (isHttp1 || returned.status !== 205);
  if (!hasLength || Buffer.isBuffer(returned.body)) theirs.delete("content-length");
  addVary(response, theirs);
  if (response.hasHeader(EXPOSED)) exposeHeaders(response, returned.headers);
  for (const [lower, { name, values }] of theirs) {
    // Removes our value before the first of theirs.
    if (response.hasHeader(lower)) response.removeHeader(lower);
    // HTTP/2 has headers with a single value; only cookies are sent separately there.
    response.setHeader(name, isHttp1 || lower === "set-cookie" ? values : values.join(", "));
  }
  if (hasLength && Buffer.isBuffer(returned.body)) response.setHeader("Content-Length", returned.body.length);
  if (returned.destinationStatus > 0) response.setHeader(DESTINATION_STATUS, returned.destinationStatus);
  // HTTP/2 has no reason phrases.
  if (isHttp1 && REASON_PHRASE.test(returned.statusText)) response.statusMessage = returned.statusText;
  response.writeHead(returned.status);
}

/**
 * A cacheable response varies by its requester: content that a script fetched must not be shown to a browser that opens
 * the same address as a page.
 */
function addVary(response: ServerResponse, theirs: GroupedHeaders): void {
  const vary = theirs.get("vary");
  const ours = response.getHeader("vary");
  const added = [
    ...(ours === undefined ? [] : [String(ours)]),
    ...(theirs.has("cache-control") ? ["Sec-Fetch-Dest, Sec-Fetch-Site"] : []),
  ];
  if (added.length > 0) theirs.set("vary", { name: vary?.name ?? "Vary", values: [...(vary?.values ?? []), ...added] });
}

const EXPOSED = "access-control-expose-headers";

/** Pages that may read the response may also read the headers that the destination names. */
function exposeHeaders(response: ServerResponse, headers: readonly HeaderPair[]): void {
  const named = headers.filter(([name]) => name.toLowerCase() === EXPOSED).map(([, value]) => value);
  if (named.length > 0) response.setHeader(EXPOSED, [response.getHeader(EXPOSED), ...named].join(", "));
}

type GroupedHeaders = Map<string, { readonly name: string; readonly values: string[] }>;

/** Groups values by lower-case name, keeping the spelling of the first. */
function grouped(headers: readonly HeaderPair[]): GroupedHeaders {
  const named: GroupedHeaders = new Map();
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    const known = named.get(lower);
    if (known) known.values.push(value);
    else named.set(lower, { name, values: [value] });
  }
  return named;
}
