import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Milliseconds without a request after which a connection is closed while the server stops. One that is closed at the
 * moment at which its client sends would be reset, so that busy clients keep theirs until an answer tells them to close it.
 */
const QUIET_MS = 400;

/** The same for a connection in steady use, whose client may just have been held up for a moment. */
const STEADY_QUIET_MS = 1_500;
/** So many requests are steady use. */
const STEADY_REQUESTS = 10;

/** Milliseconds for which a client may leave a connection open that we have closed on our side. */
const LINGER_MS = 1_000;

interface Connection {
  /** Requests that came and are not answered to their end. */
  readonly unanswered: Set<ServerResponse>;
  requests: number;
  /** On the clock of performance.now(): since when no request, nor a part of one, has come. */
  quietSince: number;
  /** `bytesRead` of the socket at that time. */
  bytesRead: number;
  /** We have closed our side. */
  isEnding: boolean;
}

/** Connections over HTTP/1.1, and those that have not told their protocol yet. Knows which of them serve a request. */
export class Http1Connections {
  readonly #connections = new Map<Socket, Connection>();
  #isClosing = false;

  add(socket: Socket): void {
    this.#connections.set(socket, {
      unanswered: new Set(),
      requests: 0,
      quietSince: performance.now(),
      bytesRead: socket.bytesRead,
      isEnding: false,
    });
    socket.once("close", () => this.#connections.delete(socket));
  }

  /** The connection turns out to speak HTTP/2. */
  forget(socket: Socket): void {
    this.#connections.delete(socket);
  }

  /** A request has come in. While the connections are being closed its answer is the last one of its connection. */
  begin({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (!connection) return;
    if (this.#isClosing) response.shouldKeepAlive = false;
    connection.requests += 1;
    connection.unanswered.add(response);
    response.once("close", () => {
      connection.unanswered.delete(response);
      connection.quietSince = performance.now();
      connection.bytesRead = socket.bytesRead;
    });
  }

  /** From now on every answer whose headers are not sent yet says `Connection: close`. */
  announceClose(): void {
    this.#isClosing = true;
    for (const { unanswered } of this.#connections.values()) {
      for (const response of unanswered) response.shouldKeepAlive = false;
    }
  }

  /** Closes the connections that have been quiet. To be called every 50 ms or so. */
  closeQuiet(): void {
    const now = performance.now();
    for (const [socket, connection] of this.#connections) {
      if (connection.unanswered.size > 0) continue;
      if (socket.bytesRead !== connection.bytesRead) {
        connection.bytesRead = socket.bytesRead;
        connection.quietSince = now;
      }
      const quietMs = now - connection.quietSince;
      const mostMs = connection.requests < STEADY_REQUESTS ? QUIET_MS : STEADY_QUIET_MS;
      if (connection.isEnding && quietMs >= mostMs + LINGER_MS) socket.destroy();
      else if (!connection.isEnding && quietMs >= mostMs) {
        connection.isEnding = true;
        socket.end();
      }
    }
  }
}
