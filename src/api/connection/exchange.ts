import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/** The part of a request that is read before it is routed, over HTTP/1.1 and HTTP/2. */
export interface ArrivedRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersionMajor: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly socket: { readonly remoteAddress?: string | undefined };
  /** Whether the whole body was read. */
  readonly complete: boolean;
}

export interface OpenResponse {
  statusCode: number;
  setHeader(name: string, value: number | string | readonly string[]): unknown;
  /** Also runs the listener if the caller disconnects. */
  once(event: "close", listener: () => void): unknown;
}

export interface WholeResponse extends OpenResponse {
  readonly destroyed: boolean;
  /** Whether `end` was called. */
  readonly writableEnded: boolean;
  writeHead(status: number, headers?: OutgoingHttpHeaders): unknown;
  addTrailers(trailers: Readonly<Record<string, string>>): unknown;
  end(body?: Uint8Array | string): unknown;
  destroy(): unknown;
}
