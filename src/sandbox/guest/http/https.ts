import { Buffer } from "node:buffer";
import { Readable, Writable } from "node:stream";
import { HostCallError, type HostCalls } from "../host-calls.js";
import { exchange, type Incoming } from "./exchange.js";
import { headerEntries } from "./headers.js";

/** A response as `https.request` gives it. */
export class IncomingMessage extends Readable {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly httpVersion = "1.1";
  readonly headers: Record<string, string | string[]> = {};
  readonly rawHeaders: string[] = [];

  constructor(incoming: Incoming) {
    super();
    this.statusCode = incoming.status;
    this.statusMessage = incoming.statusText;
    for (const [name, value] of incoming.headers) {
      this.rawHeaders.push(name, value);
      const key = name.toLowerCase();
      const earlier = this.headers[key];
      if (key === "set-cookie") this.headers[key] = [...(Array.isArray(earlier) ? earlier : []), value];
      else this.headers[key] = earlier === undefined ? value : `${String(earlier)}, ${value}`;
    }
    this.push(incoming.body);
    this.push(null);
  }

  override _read(): void {}
}

/** A request as `https.request` gives it: its body is gathered, and sent with `end`. */
export class ClientRequest extends Writable {
  readonly method: string;
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
    this.#timeoutMs = options.timeout;
    for (const [name, value] of headerEntries(options.headers)) this.setHeader(name, value);
    if (options.auth) this.setHeader("Authorization", `Basic ${Buffer.from(options.auth).toString("base64")}`);
  }

  setHeader(name: string, value: unknown): this {
    this.#headers.set(name.toLowerCase(), [name, value]);
    return this;
  }

  getHeader(name: string): unknown {
    return this.#headers.get(name.toLowerCase())?.[1];
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
}

type ResponseListener = (response: IncomingMessage) => void;

/** `require("https")` and `require("http")`. Agents have nothing to do: the host keeps the connections. */
export function createHttpModule(calls: HostCalls, scheme: "http" | "https") {
  const request = (...args: unknown[]): ClientRequest => {
    const { url, options, listener } = readArguments(args, scheme);
    const outgoing = new ClientRequest(calls, url, options);
    if (listener) outgoing.once("response", listener);
    return outgoing;
  };
  class Agent {
    destroy(): void {}
  }
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
  };
}

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
