import { type IncomingMessage, type ServerResponse, validateHeaderValue } from "node:http";
import { Fault } from "../base/fault.js";
import type { HeaderPair } from "../egress/request-framing.js";
import type { ProxyAnswer } from "../proxy/call.js";
import { DestinationFailed } from "../proxy/destination-failed.js";
import { passedHeaders } from "./browser/origin-headers.js";

/** The destination's own status; missing where it was not asked or did not answer. */
export const DESTINATION_STATUS = "BT-PROXY-DESTINATION-STATUS";

/** What these say is ours to say: a destination could pass its failure off as ours, or the other way round. */
const OURS = new Set([DESTINATION_STATUS.toLowerCase(), "bt-trace-id"]);

/** What can stand behind a status (RFC 9112, 4). */
const REASON_PHRASE = /^[\t\x20-\x7e\x80-\xff]+$/;

/**
 * What a destination says must not stop us from answering: it is checked before the first of it is passed on.
 * @throws {DestinationFailed}
 */
export function requireSendable({ status, headers, destinationStatus }: ProxyAnswer): void {
  try {
    if (status < 200) throw new Error("no final status");
    for (const [name, value] of headers) validateHeaderValue(name, value);
  } catch {
    const fault = new Fault("destination_unreachable", "The destination's answer is not valid HTTP.");
    throw new DestinationFailed(fault, destinationStatus);
  }
}

/**
 * Sends the head of an answer: the destination's headers, without those that act on the vault's origin, beside ours. A
 * header of the destination replaces ours of the same name.
 */
export function writeHead(response: ServerResponse, answer: ProxyAnswer, request: IncomingMessage): void {
  const isHttp1 = request.httpVersionMajor === 1;
  const passes = passedHeaders(request.headers);
  const theirs = grouped(answer.headers.filter(([name, value]) => passes(name, value)));
  for (const name of OURS) theirs.delete(name);
  // Nothing follows a 204, whose length is not told (RFC 9110, 8.6); over HTTP/2 Node sends nothing behind a 205 either,
  // and clients reset a stream that promises more than it holds.
  const hasLength = answer.status !== 204 && (isHttp1 || answer.status !== 205);
  if (!hasLength || Buffer.isBuffer(answer.body)) theirs.delete("content-length");
  addVary(response, theirs);
  if (response.hasHeader(EXPOSED)) exposeHeaders(response, answer.headers);
  for (const [lower, { name, values }] of theirs) {
    // Ours stand before all of theirs.
    if (response.hasHeader(lower)) response.removeHeader(lower);
    // HTTP/2 knows headers that have one value; there only cookies are sent apart.
    response.setHeader(name, isHttp1 || lower === "set-cookie" ? values : values.join(", "));
  }
  if (hasLength && Buffer.isBuffer(answer.body)) response.setHeader("Content-Length", answer.body.length);
  if (answer.destinationStatus > 0) response.setHeader(DESTINATION_STATUS, answer.destinationStatus);
  // HTTP/2 has no reason phrases.
  if (isHttp1 && REASON_PHRASE.test(answer.statusText)) response.statusMessage = answer.statusText;
  response.writeHead(answer.status);
}

/**
 * An answer that a cache may keep, as its destination says, differs by who asks: what a script fetched must not be given
 * to a browser that opens the same address as a page.
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

/** Pages that may read the answer may read the headers that the destination names, too. */
function exposeHeaders(response: ServerResponse, headers: readonly HeaderPair[]): void {
  const named = headers.filter(([name]) => name.toLowerCase() === EXPOSED).map(([, value]) => value);
  if (named.length > 0) response.setHeader(EXPOSED, [response.getHeader(EXPOSED), ...named].join(", "));
}

type GroupedHeaders = Map<string, { readonly name: string; readonly values: string[] }>;

/** Values of one name together, by the name in lower case, with the spelling of the first. */
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
