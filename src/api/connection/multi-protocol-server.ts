import {
  createServer as createHttpServer,
  type ServerOptions as HttpServerOptions,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { ArrivingRequests } from "./arriving-requests.js";
import type { ConnectionLimits } from "./connection-limits.js";
import { Http1Connections } from "./http1-connections.js";
import { Http2Sessions } from "./http2-sessions.js";
import type { ServerCertificate } from "./server-certificate.js";
import { createStopper } from "./stop-listening.js";
import { TrackedConnections } from "./tracked-connections.js";
import { UnreadableRequests } from "./unreadable-request.js";

/** Interval of checks for slow connections, in milliseconds. */
const CHECK_EVERY_MS = 2_000;

/** Requests that a client may send ahead of responses. Today's clients send one on each of several connections. */
const MAX_PIPELINED = 100;

export interface MultiProtocolServer {
  readonly server: Server;
  /**
   * Accepts no more connections. Those that a client has opened are still served. To be called before any client is
   * asked to close its connection: it opens another one at once.
   */
  stopListening(): Promise<void>;
  /**
   * Stops listening, and closes each connection without cutting off a request: HTTP/1.1 clients learn it from the next
   * response, HTTP/2 clients at once, and quiet connections are closed.
   * @returns once all are closed.
   */
  drain(): Promise<void>;
  destroy(): void;
}

interface ProxyCheck {
  /** Whether an address is a trusted proxy, whose connections are not bounded: they are of many clients. */
  readonly isProxy: (address: string) => boolean;
}

export type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
) => boolean;

/** RFC 9113, 3.4: the first bytes from a client with prior knowledge of HTTP/2. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/**
 * HTTP/1.1 and HTTP/2 on one port, distinguished by the preface in clear text and by ALPN under TLS. The HTTP/1.1
 * server is the listening one, because its time-outs for headers and requests start with that.
 */
export function createMultiProtocolServer(
  listener: RequestListener,
  limits: ConnectionLimits & Partial<ProxyCheck>,
  certificate: ServerCertificate | undefined,
  serveStream: StreamListener = () => false,
): MultiProtocolServer {
  const connections = new TrackedConnections(limits.idle, limits.isProxy);
  const server = createHttp1Server(limits, certificate);
  const [http1, serveInTurn] = [new Http1Connections(), inTurn(listener)];
  onEachRequest(server, (request, response) => {
    http1.begin(request, response);
    connections.begin(request.socket, response);
    serveInTurn(request, response);
  });
  const unreadable = new UnreadableRequests(limits);
  server.on("clientError", (error, socket) => unreadable.refuse(error, socket, http1.hasBegunResponse(socket)));
  const h2 = createH2Server(limits);
  onEachRequest(h2, listener);
  const checks = onEachStream(h2, limits, serveStream, connections);
  server.once("close", () => clearInterval(checks));
  const sessions = new Http2Sessions(h2, limits);
  const all = new Set<Socket>();
  const established = certificate ? "secureConnection" : "connection";
  const [speakHttp1] = server.listeners(established);
  server.removeAllListeners(established);
  server.on(established, (socket: Socket) => {
    all.add(socket);
    http1.add(socket);
    connections.add(socket);
    socket.once("close", () => all.delete(socket));
    socket.on("error", () => socket.destroy());
    const silence = setTimeout(() => socket.destroy(), limits.headersTimeout);
    decideProtocol(socket, (isHttp2) => {
      clearTimeout(silence);
      if (isHttp2) {
        http1.forget(socket);
        h2.once("session", (session) => connections.replace(socket, session));
        speakHttp2(h2, socket);
      } else speakHttp1?.call(server, socket);
    });
    socket.once("close", () => clearTimeout(silence));
  });
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  const stopListening = createStopper(server);
  return {
    server,
    stopListening,
    async drain() {
      sessions.goAway();
      http1.closeUntil(closed);
      await stopListening();
      await closed;
    },
    destroy() {
      sessions.destroy();
      for (const socket of all) socket.destroy();
    },
  };
}

function speakHttp2(server: Http2Server, socket: Socket): void {
  // Node's HTTP/2 has no half-closed connections: its sessions would not notice a client that is gone.
  socket.allowHalfOpen = false;
  server.emit("connection", socket);
}

/** Node's own refusal of an unknown Expect header has no body; the listener refuses these requests. */
function onEachRequest(server: Server | Http2Server, listener: RequestListener): void {
  server.on("request", listener);
  server.on("checkExpectation", listener);
}

/**
 * Offers each stream to the listener first. Node's own listener emits a request for those that it does not serve.
 * @returns the timer of the checks for slow clients.
 */
function onEachStream(
  server: Http2Server,
  { requestTimeout }: ConnectionLimits,
  serve: StreamListener,
  connections: TrackedConnections,
): NodeJS.Timeout {
  const arriving = new ArrivingRequests(requestTimeout);
  const [emitRequest] = server.listeners("stream");
  server.removeAllListeners("stream");
  server.on("stream", (stream, headers, flags, rawHeaders) => {
    connections.beginStream(stream);
    arriving.add(stream);
    if (!serve(stream, headers, rawHeaders)) emitRequest?.call(server, stream, headers, flags, rawHeaders);
  });
  return setInterval(() => {
    arriving.endOverdue();
    connections.findUnread();
  }, CHECK_EVERY_MS).unref();
}

function createHttp1Server(limits: ConnectionLimits, certificate: ServerCertificate | undefined): Server {
  const settings = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: limits.idleTimeout,
    keepAliveTimeoutBuffer: limits.idleMargin,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    // Node's own refusal has no body; the listener refuses these requests.
    requireHostHeader: false,
  };
  const server = certificate ? createTlsServer(settings, certificate) : createHttpServer(settings);
  server.maxHeadersCount = limits.headerCount;
  server.timeout = limits.stalledTimeout;
  // close() would cut off connections with a request just arriving.
  server.closeIdleConnections = () => {};
  return server;
}

/** Connections that are open keep the certificate of their handshake. */
function createTlsServer(settings: HttpServerOptions, certificate: ServerCertificate): Server {
  const minVersion = "TLSv1.2";
  const server = createHttpsServer({
    ...settings,
    ...certificate.current,
    minVersion,
    ALPNProtocols: ["h2", "http/1.1"],
    // A connection can be drained only after its handshake. Node's own 120 s would delay the stop of the server.
    handshakeTimeout: settings.headersTimeout,
  });
  certificate.onRenewal((identity) => server.setSecureContext({ ...identity, minVersion }));
  return server;
}

function createH2Server(limits: ConnectionLimits): Http2Server {
  return createHttp2Server({
    settings: {
      maxConcurrentStreams: limits.streams,
      maxHeaderListSize: limits.readHeaderBytes,
      // Bytes of a body that a client may send on each stream before it is read. They stay in memory.
      initialWindowSize: 64 * 1024,
    },
    maxHeaderListPairs: limits.readHeaderCount,
    // Megabytes of memory for each session.
    maxSessionMemory: 10,
    // Streams that a client may reset in a burst, and per second after that (rapid reset, CVE-2023-44487).
    streamResetBurst: 500,
    streamResetRate: 100,
  });
}

/**
 * Serves pipelined requests one after the other. Node would serve all at once: one connection could take the turns of
 * thousands, and its responses would wait in memory.
 */
function inTurn(listener: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    // A response gets its socket when the previous one has ended.
    if (response.socket) return listener(request, response);
    const { socket } = request;
    const ahead = (waiting.get(socket) ?? 0) + 1;
    waiting.set(socket, ahead);
    if (ahead > MAX_PIPELINED) return socket.destroy();
    response.once("socket", () => {
      waiting.set(socket, (waiting.get(socket) ?? 0) - 1);
      listener(request, response);
    });
  };
}

function decideProtocol(socket: Socket, decide: (isHttp2: boolean) => void): void {
  if (socket instanceof TLSSocket) decide(socket.alpnProtocol === "h2");
  else sniff(socket, decide);
}

/** Reads until the preface is confirmed or refuted, then puts the bytes back. */
function sniff(socket: Socket, decide: (isHttp2: boolean) => void): void {
  let seen = Buffer.alloc(0);
  const look = () => {
    const chunk: unknown = socket.read();
    if (!Buffer.isBuffer(chunk)) return;
    seen = Buffer.concat([seen, chunk]);
    const compared = Math.min(seen.length, PREFACE.length);
    const fits = seen.subarray(0, compared).equals(PREFACE.subarray(0, compared));
    if (fits && compared < PREFACE.length) return;
    socket.off("readable", look);
    socket.unshift(seen);
    decide(fits);
  };
  socket.on("readable", look);
}
