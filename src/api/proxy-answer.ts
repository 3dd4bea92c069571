import { type IncomingMessage, type ServerResponse, validateHeaderValue } from "node:http";
import { Fault } from "../base/fault.js";
import type { HeaderPair } from "../egress/request-framing.js";
import type { ProxyAnswer } from "../proxy/call.js";
import { DestinationFailed } from "../proxy/destination-failed.js";

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

/** Sends the head of an answer: the destination's, with what is ours. */
export function writeHead(response: ServerResponse, answer: ProxyAnswer, request: IncomingMessage): void {
  const isHttp1 = request.httpVersionMajor === 1;
  const status: HeaderPair[] =
    answer.destinationStatus > 0 ? [[DESTINATION_STATUS, String(answer.destinationStatus)]] : [];
  const length: HeaderPair[] = Buffer.isBuffer(answer.body) ? [["Content-Length", String(answer.body.length)]] : [];
  const theirs = answer.headers.filter(
    ([name]) => !OURS.has(name.toLowerCase()) && (length.length === 0 || name.toLowerCase() !== "content-length"),
  );
  const ours = Object.entries(response.getHeaders()).flatMap(([name, value]): HeaderPair[] => {
    // Where the destination speaks of cross-origin rights itself, its word counts.
    const isTheirs = theirs.some(([theirs]) => theirs.toLowerCase() === name);
    return isTheirs || value === undefined ? [] : [[name, String(value)]];
  });
  for (const [name] of ours) response.removeHeader(name);
  for (const [name, values] of grouped([...ours, ...theirs, ...length, ...status])) {
    // HTTP/2 knows headers that have one value; there only cookies are sent apart.
    const isApart = isHttp1 || name.toLowerCase() === "set-cookie";
    response.setHeader(name, isApart ? values : values.join(", "));
  }
  // HTTP/2 has no reason phrases.
  if (isHttp1 && REASON_PHRASE.test(answer.statusText)) response.statusMessage = answer.statusText;
  response.writeHead(answer.status);
}

/** Values of one name together, in the spelling of the first. */
function grouped(headers: readonly HeaderPair[]): Map<string, string[]> {
  const spelled = new Map<string, string>();
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const first = spelled.get(name.toLowerCase()) ?? name;
    spelled.set(name.toLowerCase(), first);
    values.set(first, [...(values.get(first) ?? []), value]);
  }
  return values;
}
