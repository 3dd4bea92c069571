import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";

/**
 * Milliseconds without a request after which a stopping server closes a connection. Closing one while its client sends
 * would reset it, so busy clients keep theirs until a response says to close it.
 */
const QUIET_MS = 400;

/** The same for a connection in steady use, whose client may only have paused for a moment. */
const STEADY_QUIET_MS = 1_500;
const STEADY_REQUESTS = 10;

/** Interval of checks for quiet connections, in milliseconds. */
const CHECK_EVERY_MS = 50;

/** Milliseconds for which a client may keep a connection open after this side has closed. */
const LINGER_MS = 1_000;

interface Connection {
  /** Requests without a complete response. */
  readonly openResponses: Set<ServerResponse>;
  requests: number;
  /** Time of the last byte received, on the clock of performance.now(). */
  quietSince: number;
  /** `bytesRead` of the socket at that time. */
  bytesRead: number;
  /** This side has closed. */
  isEnding: boolean;
}

/** HTTP/1.1 connections, and those of a still unknown protocol. Tracks which of them serve a request. */
export class Http1Connections {
  readonly #connections = new Map<Socket, Connection>();
  #isClosing = false;

  add(socket: Socket): void {
    this.#connections.set(socket, {
      openResponses: new Set(),
      requests: 0,
      quietSince: performance.now(),
      bytesRead: socket.bytesRead,
      isEnding: false,
    });
    socket.once("close", () => this.#connections.delete(socket));
  }

  forget(socket: Socket): void {
    this.#connections.delete(socket);
  }

  /** Records a request. While connections are being closed, its response is the last of its connection. */
  begin({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (!connection) return;
    if (this.#isClosing) response.shouldKeepAlive = false;
    connection.requests += 1;
    connection.openResponses.add(response);
    response.once("close", () => {
      connection.openResponses.delete(response);
      connection.quietSince = performance.now();
      connection.bytesRead = socket.bytesRead;
    });
  }

  /** Whether part of a response is sent, and the rest is not. */
  hasBegunResponse(socket: Duplex): boolean {
    const connection = socket instanceof Socket ? this.#connections.get(socket) : undefined;
    return [...(connection?.openResponses ?? [])].some(({ headersSent }) => headersSent);
  }

  /**
   * From now on every response whose headers are not sent yet says `Connection: close`, and quiet connections are
   * closed until `closed` resolves.
   */
  closeUntil(closed: Promise<unknown>): void {
    this.#isClosing = true;
    for (const { openResponses } of this.#connections.values()) {
      for (const response of openResponses) response.shouldKeepAlive = false;
    }
    // The second immediate runs once the event loop has read what had arrived by `now`. Without it, a connection whose
    // request waits to be read after a busy moment looks quiet, and its client is reset.
    const closeQuiet = () => {
      const now = performance.now();
      setImmediate(() => setImmediate(() => this.#closeQuiet(now)));
    };
    const checks = setInterval(closeQuiet, CHECK_EVERY_MS);
    closeQuiet();
    const stop = () => clearInterval(checks);
    void closed.then(stop, stop);
  }

  #closeQuiet(now: number): void {
    for (const [socket, connection] of this.#connections) {
      if (connection.openResponses.size > 0) continue;
      if (socket.bytesRead !== connection.bytesRead) {
        connection.bytesRead = socket.bytesRead;
        connection.quietSince = now;
      }
      const quietMs = now - connection.quietSince;
      const maxMs = connection.requests < STEADY_REQUESTS ? QUIET_MS : STEADY_QUIET_MS;
      if (connection.isEnding && quietMs >= maxMs + LINGER_MS) socket.destroy();
      else if (!connection.isEnding && quietMs >= maxMs) {
        connection.isEnding = true;
        socket.end();
      }
    }
  }
}
