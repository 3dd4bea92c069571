import http, { type ClientRequest } from "node:http";
import https from "node:https";
import { Readable } from "node:stream";
import { type Destination, readDestination } from "./destination.js";
import { EgressError, isRefusal } from "./egress-error.js";
import { Exchange, type ExchangeLimits, type GuardedResponse } from "./exchange.js";
import type { GuardedAgents, PooledRequestOptions } from "./guarded-agents.js";
import { type FramedRequest, frameRequest, type HeaderPair } from "./request-framing.js";

export interface GuardedRequest extends ExchangeLimits {
  /** A Destination already parsed for this call is not parsed again: 1 to 2 % of a proxied call. */
  readonly url: string | Destination;
  /** Exact path and query for the wire, if URL normalization would change them. */
  readonly target?: string;
  /** Sent in upper case, as node:http does. CONNECT is refused. */
  readonly method: string;
  /** Sent as given except Host, Content-Length, Transfer-Encoding and Trailer, see {@link frameRequest}. */
  readonly headers: readonly HeaderPair[];
  readonly body?: Uint8Array | Readable | undefined;
  /** Requests of one pool share connections: the tenant's id. */
  readonly pool: string;
}

/** Twice Node's default; responses of large services with many cookies stay below. */
const maxResponseHeaderBytes = 32_768;

/**
 * Sends one request and resolves at the response's headers. Redirects are returned, not followed. Nothing is sent
 * twice.
 * @throws EgressError (as a rejection). `delivery` says whether the destination may have seen the request.
 */
export async function guardedRequest(agents: GuardedAgents, request: GuardedRequest): Promise<GuardedResponse> {
  let destination: Destination | undefined;
  try {
    destination = checkedDestination(agents, request.url);
    const method = request.method.toUpperCase();
    if (request.signal?.aborted) throw new EgressError("aborted");
    if (method === "CONNECT") throw new EgressError("invalid_request");
    const framed = frameRequest(destination.authority, method, request.headers, request.body);
    const outgoing = startRequest(agents, destination, request, framed);
    const response = await new Exchange(outgoing, destination, request).complete(framed.body);
    response.body.once("error", (error) => noteDestination(error, destination));
    return response;
  } catch (error) {
    noteDestination(error, destination);
    // The call owns the stream, so it must end it after a refusal too.
    if (request.body instanceof Readable) request.body.destroy();
    throw error;
  }
}

function noteDestination(error: unknown, destination: Destination | undefined): void {
  if (destination && error instanceof EgressError) error.at(destination);
}

/** Connections are counted where they are made; refusals before that are counted here. */
function checkedDestination(agents: GuardedAgents, url: string | Destination): Destination {
  if (typeof url !== "string") return url;
  try {
    return readDestination(url, agents.policy);
  } catch (error) {
    if (error instanceof EgressError && isRefusal(error.reason)) {
      agents.onDecision({ allowed: false, reason: error.reason });
    }
    throw error;
  }
}

function startRequest(
  agents: GuardedAgents,
  destination: Destination,
  request: GuardedRequest,
  framed: FramedRequest,
): ClientRequest {
  const options: PooledRequestOptions = {
    protocol: destination.protocol,
    host: destination.host,
    port: destination.port,
    path: request.target ?? destination.path,
    method: request.method,
    headers: framed.headers.flat(),
    maxHeaderSize: maxResponseHeaderBytes,
    insecureHTTPParser: false,
    pool: request.pool,
  };
  try {
    return destination.protocol === "https:"
      ? https.request({ ...options, agent: agents.https })
      : http.request({ ...options, agent: agents.http });
  } catch (error) {
    // Node refuses invalid header names and line breaks in values; its message would show the header.
    throw new EgressError("invalid_request", "not_sent", error);
  }
}
