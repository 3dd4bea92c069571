import { STATUS_CODES } from "guest:node-constants";
import { Buffer } from "node:buffer";
import EventEmitter from "node:events";
import { Readable, Writable } from "node:stream";
import { HostCallError, type HostCalls } from "../ask-host.js";
import { exchange, type Incoming } from "./exchange.js";
import { headerEntries, joinedHeaders } from "./headers.js";

/** The socket of requests and responses: connected, and without effect. */
export class StubSocket extends EventEmitter {
  readonly connecting = false;
  readonly encrypted = true;
  readonly authorized = true;
  readonly destroyed = false;
  readonly remoteAddress = undefined;

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  destroy(): this {
    return this;
  }
}

/** A response in the form of `https.request`. */
export class IncomingMessage extends Readable {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly httpVersion = "1.1";
  readonly httpVersionMajor = 1;
  readonly httpVersionMinor = 1;
  readonly complete = true;
  readonly aborted = false;
  readonly trailers = {};
  readonly rawTrailers: string[] = [];
  readonly socket = new StubSocket();
  readonly headers: Record<string, string | string[]>;
  readonly rawHeaders: string[];

  constructor(incoming: Incoming) {
    super();
    this.statusCode = incoming.status;
    this.statusMessage = incoming.statusText;
    this.rawHeaders = incoming.headers.flat();
    this.headers = joinedHeaders(incoming.headers);
    this.push(incoming.body);
    this.push(null);
  }

  override _read(): void {}
}

/** A request in the form of `https.request`: its body is buffered, and sent by `end`. */
export class ClientRequest extends Writable {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly protocol: string;
  readonly reusedSocket = false;
  readonly socket = new StubSocket();
  readonly #calls: HostCalls;
  readonly #url: string;
  readonly #headers = new Map<string, [name: string, value: unknown]>();
  readonly #chunks: Buffer[] = [];
  #timeoutMs: number | undefined;

  constructor(calls: HostCalls, url: string, options: RequestOptions) {
    super();
    this.#calls = calls;
    this.#url = url;
    this.method = String(options.method ?? "GET").toUpperCase();
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    this.host = parsed?.hostname ?? "";
    this.path = parsed ? `${parsed.pathname}${parsed.search}` : "";
    this.protocol = parsed?.protocol ?? "";
    this.#timeoutMs = options.timeout;
    for (const [name, value] of headerEntries(options.headers)) this.setHeader(name, value);
    if (options.auth) this.setHeader("Authorization", `Basic ${Buffer.from(options.auth).toString("base64")}`);
    const { signal } = options;
    if (signal?.aborted) queueMicrotask(() => this.#abort(signal.reason));
    else signal?.addEventListener("abort", () => this.#abort(signal.reason));
    // Some clients write nothing before they have a socket.
    queueMicrotask(() => this.emit("socket", this.socket));
  }

  #abort(reason: unknown): void {
    const error = Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" });
    this.destroy(Object.assign(error, { cause: reason }));
  }

  setHeader(name: string, value: unknown): this {
    this.#headers.set(name.toLowerCase(), [name, value]);
    return this;
  }

  getHeader(name: string): unknown {
    return this.#headers.get(name.toLowerCase())?.[1];
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }

  getHeaders(): Record<string, unknown> {
    return Object.fromEntries([...this.#headers].map(([key, [, value]]) => [key, value]));
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  setTimeout(ms: number, callback?: () => void): this {
    this.#timeoutMs = ms;
    if (callback) this.once("timeout", callback);
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setSocketKeepAlive(): this {
    return this;
  }

  flushHeaders(): void {}

  abort(): void {
    this.destroy();
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
    done();
  }

  override _final(done: () => void): void {
    done();
    this.#send().catch((error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))));
  }

  async #send(): Promise<void> {
    const headers = headerEntries(Object.fromEntries(this.#headers.values()));
    const body = this.#chunks.length > 0 ? Buffer.concat(this.#chunks) : undefined;
    const request = { method: this.method, url: this.#url, headers, body, timeoutMs: this.#timeoutMs };
    const incoming = await exchange(this.#calls, request).catch((error: unknown) => {
      if (error instanceof HostCallError && error.code === "ETIMEDOUT") this.emit("timeout");
      throw error;
    });
    if (!this.destroyed) this.emit("response", new IncomingMessage(incoming));
  }
}

interface RequestOptions {
  readonly method?: string;
  readonly headers?: unknown;
  readonly timeout?: number;
  readonly auth?: string;
  readonly protocol?: string;
  readonly host?: string;
  readonly hostname?: string;
  readonly port?: number | string;
  readonly path?: string;
  readonly signal?: AbortSignal;
}

type ResponseListener = (response: IncomingMessage) => void;

/** `require("https")` and `require("http")`. Agents have no effect: the host manages the connections. */
export function createHttpModule(calls: HostCalls, scheme: "http" | "https") {
  const request = (...args: unknown[]): ClientRequest => {
    const { url, options, listener } = readArguments(args, scheme);
    const outgoing = new ClientRequest(calls, url, options);
    if (listener) outgoing.once("response", listener);
    return outgoing;
  };
  class Agent extends EventEmitter {
    readonly options: object;
    readonly protocol = `${scheme}:`;
    readonly defaultPort = scheme === "https" ? 443 : 80;
    readonly requests = {};
    readonly sockets = {};
    readonly freeSockets = {};

    constructor(options?: object) {
      super();
      this.options = { ...options };
    }

    destroy(): void {}
  }
  const refuseServer = (): never => {
    throw new Error(`${scheme}.createServer is not available: code here has no sockets.`);
  };
  return {
    request,
    get: (...args: unknown[]) => {
      const outgoing = request(...args);
      outgoing.end();
      return outgoing;
    },
    Agent,
    globalAgent: new Agent(),
    ClientRequest,
    IncomingMessage,
    METHODS,
    STATUS_CODES,
    createServer: refuseServer,
    Server: refuseServer,
  };
}

const METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

/** `(url, options, listener)`, each of the first two optional. */
function readArguments(args: readonly unknown[], scheme: string) {
  const [first, second, third] = args;
  const byUrl = typeof first === "string" || first instanceof URL;
  const options: RequestOptions = Object(byUrl && typeof second !== "function" ? second : byUrl ? {} : first);
  const url = byUrl ? String(first) : address(options, scheme);
  const callback = [second, third].find((value) => typeof value === "function");
  const listener: ResponseListener | undefined = callback && ((response) => void callback(response));
  return { url, options, listener };
}

function address(options: RequestOptions, scheme: string): string {
  const host = options.hostname ?? options.host ?? "localhost";
  const port = options.port && !/:\d+$/.test(host) ? `:${options.port}` : "";
  return `${options.protocol ?? `${scheme}:`}//${host}${port}${options.path ?? "/"}`;
}
