import { IncomingMessage, type ServerResponse } from "node:http";
import { Http2ServerRequest, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { clientNetwork, plainAddress } from "../../base/network.js";
import type { ArrivedRequest } from "./exchange.js";
import { IdleConnections, type IdleLimits, type OpenExchange, type TrackedConnection } from "./idle-connections.js";
import { StreamRequest } from "./stream-exchange.js";

/** Tracked connections by their socket, or their session of HTTP/2. */
const tracked = new WeakMap<object, TrackedConnection>();

/** The connection of a request; undefined for one that is not tracked. To be called before the request has ended. */
export function findTrackedConnection(request: ArrivedRequest): TrackedConnection | undefined {
  if (request instanceof IncomingMessage) return tracked.get(request.socket);
  const isOnStream = request instanceof StreamRequest || request instanceof Http2ServerRequest;
  const session = isOnStream ? request.stream.session : undefined;
  return session && tracked.get(session);
}

export class TrackedConnections {
  readonly #idle: IdleConnections;
  readonly #isProxy: (address: string) => boolean;

  /** @param isProxy whether an address is a trusted proxy, which holds connections for many clients. */
  constructor(limits: IdleLimits, isProxy: (address: string) => boolean = () => false) {
    this.#idle = new IdleConnections(limits);
    this.#isProxy = isProxy;
  }

  add(socket: Socket): void {
    this.#track(socket, socket, () => socket.destroy());
  }

  /** A connection turned out to speak HTTP/2. */
  replace(socket: Socket, session: ServerHttp2Session): void {
    tracked.get(socket)?.end();
    // GOAWAY tells the client which requests were not served. A session would then wait for unread responses for ever.
    this.#track(session, socket, (hasUnread) => (hasUnread ? session.destroy() : session.close()));
  }

  findUnread(): void {
    this.#idle.findUnread();
  }

  begin(socket: Socket, response: ServerResponse): void {
    countRequest(tracked.get(socket), response);
  }

  beginStream(stream: ServerHttp2Stream): void {
    countRequest(stream.session && tracked.get(stream.session), stream);
  }

  #track(key: object, socket: Socket, close: (hasUnread: boolean) => void): void {
    const address = plainAddress(socket.remoteAddress ?? "");
    if (this.#isProxy(address)) return;
    const connection = this.#idle.open({ address, network: clientNetwork(address) }, close);
    tracked.set(key, connection);
    socket.once("close", () => connection.end());
  }
}

function countRequest(
  connection: TrackedConnection | undefined,
  exchange: OpenExchange & { once(event: "close", listener: () => void): unknown },
): void {
  if (!connection) return;
  connection.begin(exchange);
  exchange.once("close", () => connection.finish(exchange));
}
