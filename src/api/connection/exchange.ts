import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/** A request as the steps before its route read it, whichever of Node's classes holds it. */
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

/** A response as the steps before its route prepare it. */
export interface OpenResponse {
  statusCode: number;
  setHeader(name: string, value: number | string | readonly string[]): unknown;
  /** Also runs the listener where the caller disconnects. */
  once(event: "close", listener: () => void): unknown;
}

/** A response that is sent at once, as a whole. */
export interface WholeResponse extends OpenResponse {
  readonly destroyed: boolean;
  /** Whether `end` was called. */
  readonly writableEnded: boolean;
  writeHead(status: number, headers?: OutgoingHttpHeaders): unknown;
  addTrailers(trailers: Readonly<Record<string, string>>): unknown;
  end(body?: Uint8Array | string): unknown;
  destroy(): unknown;
}
