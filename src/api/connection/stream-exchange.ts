import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Http2ServerRequest, type ServerHttp2Stream } from "node:http2";
import type { ArrivedRequest, WholeResponse } from "./exchange.js";

/**
 * A request on an HTTP/2 stream, without Node's classes for compatibility with HTTP/1.1: their two streams and 13
 * listeners cost a bare call 8 us of 35 (docs/decisions/0002).
 */
export class StreamRequest implements ArrivedRequest {
  readonly httpVersion = "2.0";
  readonly httpVersionMajor = 2;
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) {
    this.stream = stream;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
  }

  get method(): string | undefined {
    return one(this.headers[":method"]);
  }

  get url(): string | undefined {
    return one(this.headers[":path"]);
  }

  /** Its address is unknown once the stream has closed. */
  get socket(): ArrivedRequest["socket"] {
    return this.stream.session?.socket ?? {};
  }

  get complete(): boolean {
    return this.stream.readableEnded || this.stream.aborted || this.stream.destroyed;
  }
}

/** Whether a request came over HTTP/2: one over HTTP/1.1 can claim the version in its first line. */
export function isOverHttp2(request: IncomingMessage | StreamRequest): boolean {
  return request instanceof StreamRequest || request instanceof Http2ServerRequest;
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

export class StreamResponse implements WholeResponse {
  statusCode = 200;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: OutgoingHttpHeaders = {};
  readonly #closeListeners: (() => void)[] = [];
  #isEnded = false;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    // An error closes the stream: the listeners for that suffice.
    stream.on("error", ignore);
    stream.on("close", () => {
      for (const listener of this.#closeListeners) listener();
    });
  }

  get destroyed(): boolean {
    return this.#stream.destroyed;
  }

  get writableEnded(): boolean {
    return this.#isEnded;
  }

  once(_event: "close", listener: () => void): void {
    this.#closeListeners.push(listener);
  }

  setHeader(name: string, value: number | string | readonly string[]): void {
    this.#headers[name.toLowerCase()] = typeof value === "object" ? [...value] : value;
  }

  writeHead(status: number, headers?: OutgoingHttpHeaders): void {
    this.statusCode = status;
    if (this.#isGone) return;
    this.#stream.respond({ ...this.#headers, ...headers, ":status": status }, WAIT_FOR_TRAILERS);
  }

  /** Call it between `writeHead` and `end`. */
  addTrailers(trailers: Readonly<Record<string, string>>): void {
    this.#stream.on("wantTrailers", () => this.#stream.sendTrailers(trailers));
  }

  end(body?: Uint8Array | string): void {
    this.#isEnded = true;
    if (!this.#isGone) this.#stream.end(body);
  }

  destroy(): void {
    this.#stream.destroy();
  }

  get #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }
}

const WAIT_FOR_TRAILERS = { waitForTrailers: true };

function ignore(): void {}
