import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { HostCallError, type HostCalls } from "../ask-host.js";
import { decoded } from "./decoded.js";
import { exchange, followRedirects, type Incoming, type Outgoing } from "./exchange.js";
import { Headers, headerEntries } from "./headers.js";

/** node-fetch 2's error for failures before a response. */
export class FetchError extends Error {
  readonly type: string;
  readonly code: string;
  readonly errno: string;

  constructor(url: string, cause: HostCallError) {
    super(`request to ${url} failed, reason: ${cause.message}`);
    this.name = "FetchError";
    this.type = cause.code === "ETIMEDOUT" ? "request-timeout" : "system";
    this.code = cause.code;
    this.errno = cause.code;
  }
}

/** The common part of requests and responses: a body that can be read once. */
class Body {
  readonly #bytes: Buffer;
  bodyUsed = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get body(): Readable {
    return Readable.from([this.#bytes], { objectMode: false });
  }

  async buffer(): Promise<Buffer> {
    if (this.bodyUsed) throw new TypeError("body used already");
    this.bodyUsed = true;
    return this.#bytes;
  }

  async arrayBuffer(): Promise<ArrayBufferLike> {
    const { buffer, byteOffset, byteLength } = await this.buffer();
    return buffer.slice(byteOffset, byteOffset + byteLength);
  }

  async text(): Promise<string> {
    return (await this.buffer()).toString("utf8");
  }

  async json(): Promise<unknown> {
    const value: unknown = JSON.parse(await this.text());
    return value;
  }

  /** For copies. */
  protected unread(): Buffer {
    return this.#bytes;
  }
}

export class Response extends Body {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly url: string;

  constructor(body?: unknown, init: { status?: number; statusText?: string; headers?: unknown; url?: string } = {}) {
    super(Buffer.from(bodyContent(body).content ?? ""));
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? "";
    this.headers = new Headers(init.headers);
    this.url = init.url ?? "";
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  clone(): Response {
    const { status, statusText, headers, url } = this;
    return new Response(this.unread(), { status, statusText, headers, url });
  }
}

export class Request extends Body {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly redirect: string;
  readonly timeout: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly hasBody: boolean;

  constructor(input: unknown, init?: unknown) {
    const from = input instanceof Request ? input : undefined;
    const { method, headers, body, redirect, timeout, signal } = Object(init);
    const { content, type } = bodyContent(body);
    super(Buffer.from(content ?? from?.unread() ?? ""));
    this.url = from?.url ?? new URL(String(input)).href;
    this.method = String(method ?? from?.method ?? "GET").toUpperCase();
    this.headers = new Headers(headers ?? from?.headers);
    this.redirect = String(redirect ?? from?.redirect ?? "follow");
    this.timeout = timeout ?? from?.timeout;
    this.signal = signal ?? from?.signal;
    this.hasBody = content !== undefined || from?.hasBody === true;
    if (type !== undefined && !this.headers.has("content-type")) this.headers.set("content-type", type);
    if (this.hasBody && (this.method === "GET" || this.method === "HEAD")) {
      throw new TypeError("Request with GET/HEAD method cannot have body");
    }
  }

  outgoing(): Outgoing {
    const headers = headerEntries(this.headers);
    const body = this.hasBody ? this.unread() : undefined;
    return { method: this.method, url: this.url, headers, body, timeoutMs: this.timeout };
  }
}

/** A body as text or bytes, with its implied content type. */
export function bodyContent(body: unknown): { readonly content?: string | Uint8Array; readonly type?: string } {
  if (body === undefined || body === null) return {};
  if (body instanceof URLSearchParams) {
    return { content: String(body), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  }
  if (body instanceof Uint8Array) return { content: body };
  if (body instanceof ArrayBuffer) return { content: new Uint8Array(body) };
  if (ArrayBuffer.isView(body)) return { content: new Uint8Array(body.buffer, body.byteOffset, body.byteLength) };
  return { content: String(body), type: "text/plain;charset=UTF-8" };
}

/** The global `fetch`, and with its classes the result of `require("node-fetch")`. @param zlib loads that module. */
export function createFetch(calls: HostCalls, zlib: () => unknown) {
  return async (input: unknown, init?: unknown): Promise<Response> => {
    const request = new Request(input, init);
    request.signal?.throwIfAborted();
    try {
      return response(decoded(await unlessAborted(send(calls, request), request.signal), zlib));
    } catch (error) {
      throw error instanceof HostCallError ? new FetchError(request.url, error) : error;
    }
  };
}

function unlessAborted<T>(pending: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return pending;
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    pending.then(resolve, reject);
  });
}

/** node-fetch follows 20 redirects. */
async function send(calls: HostCalls, request: Request): Promise<Incoming> {
  if (request.redirect === "follow") return followRedirects(calls, request.outgoing(), 21);
  const incoming = await exchange(calls, request.outgoing());
  if (request.redirect === "error" && incoming.status >= 300 && incoming.status < 400) {
    throw new HostCallError("no-redirect", "the destination redirects, and redirect mode is set to error");
  }
  return incoming;
}

function response({ status, statusText, headers, body, url }: Incoming): Response {
  return new Response(body, { status, statusText, headers, url });
}
