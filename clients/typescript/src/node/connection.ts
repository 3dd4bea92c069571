import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from "node:http2";
import { closedClient } from "../errors.js";
import type { TlsOptions } from "../options.js";
import { connectFailure, NO_HTTP2 } from "./connection-errors.js";
import { KeepAlive, PING_INTERVAL_MS } from "./keep-alive.js";

/** Limit for a server that accepts connections and sends nothing. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Responses up to this size need no round trip for flow control. A list of 100 tokens fits. */
const WINDOW_BYTES = 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * WINDOW_BYTES;

/**
 * One HTTP/2 connection that is made when it is needed, and again after it was lost. It keeps a program running only while
 * a call is under way.
 */
export class Connection {
  readonly #baseUrl: URL;
  readonly #tls: TlsOptions;
  readonly #onLimit: (streams: number) => void;
  #session: Promise<ClientHttp2Session> | undefined;
  #open: ClientHttp2Session | undefined;
  /** Also those that are being made, and those that take no more streams. */
  readonly #sessions = new Set<ClientHttp2Session>();
  #keepAlive: KeepAlive | undefined;
  #isDestroyed = false;
  #pingIntervalMs = PING_INTERVAL_MS;

  /** @param onLimit gets the number of streams that the server takes at once. */
  constructor(baseUrl: URL, tls: TlsOptions, onLimit: (streams: number) => void) {
    this.#baseUrl = baseUrl;
    this.#tls = tls;
    this.#onLimit = onLimit;
  }

  /** @throws {AttemptError} nothing was sent then. */
  session(): Promise<ClientHttp2Session> {
    if (this.#isDestroyed) return Promise.reject(closedClient());
    this.#session ??= this.#connect();
    return this.#session;
  }

  /** The session that is ready for calls, without a wait; undefined while no session is ready. */
  get ready(): ClientHttp2Session | undefined {
    return this.#open;
  }

  /** The server has sent something. */
  noteActivity(): void {
    this.#keepAlive?.noteActivity();
  }

  /** Asks whether the connection is alive, if nothing arrived on it while a call waited. */
  verifyIfSilent(since: number): void {
    if (this.#keepAlive?.isSilentSince(since)) this.#keepAlive.verify();
  }

  /** Keeps the program running, or lets it end. */
  hold(isInUse: boolean): void {
    if (isInUse) this.#open?.ref();
    else this.#open?.unref();
  }

  destroy(): void {
    this.#isDestroyed = true;
    for (const session of this.#sessions) session.destroy();
  }

  #connect(): Promise<ClientHttp2Session> {
    const session = connect(this.#baseUrl.origin, sessionOptions(this.#tls));
    this.#sessions.add(session);
    const connecting = new Promise<ClientHttp2Session>((resolve, reject) => {
      const fail = (error: Error) => {
        clearTimeout(timer);
        session.destroy();
        reject(connectFailure(error, this.#baseUrl));
      };
      const timer = setTimeout(
        () => fail(Object.assign(new Error("no response"), { code: "ETIMEDOUT" })),
        CONNECT_TIMEOUT_MS,
      );
      // An HTTP/2 server sends its settings first. No call is sent before they arrive, so a failure until then has certainly
      // had no effect.
      session.once("remoteSettings", ({ maxConcurrentStreams }) => {
        clearTimeout(timer);
        this.#onLimit(maxConcurrentStreams ?? Number.POSITIVE_INFINITY);
        this.#use(session);
        resolve(session);
      });
      session.once("connect", () => {
        if (session.encrypted && session.alpnProtocol !== "h2")
          fail(Object.assign(new Error("no h2"), { code: NO_HTTP2 }));
      });
      session.on("error", fail);
      session.once("close", () => fail(Object.assign(new Error("closed"), { code: "ECONNRESET" })));
    });
    const forget = () => {
      if (this.#session === connecting) this.#session = undefined;
      if (this.#open === session) this.#open = undefined;
    };
    // After a GOAWAY, open streams may finish. New streams need another connection.
    session.once("goaway", forget);
    session.once("close", forget);
    session.once("close", () => this.#sessions.delete(session));
    connecting.catch(forget);
    return connecting;
  }

  #use(session: ClientHttp2Session): void {
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.on("remoteSettings", ({ maxConcurrentStreams }) => {
      if (maxConcurrentStreams !== undefined) this.#onLimit(maxConcurrentStreams);
    });
    this.#keepAlive = new KeepAlive(session, this.#pingIntervalMs, () => {
      this.#pingIntervalMs *= 2;
    });
    this.#open = session;
    // The call that asked for it may have ended meanwhile.
    session.unref();
  }
}

function sessionOptions({ ca, cert, key, serverName }: TlsOptions): SecureClientSessionOptions {
  return {
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    // In megabytes; the default of 10 refuses calls while a hundred responses are large.
    maxSessionMemory: 1_000,
    ...(ca === undefined ? {} : { ca: typeof ca === "string" ? ca : [...ca] }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}
