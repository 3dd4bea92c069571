/** What bounds a connection, on both versions of HTTP. */
export interface ConnectionLimits {
  /** Bytes of all headers of a request. */
  readonly headerBytes: number;
  readonly headerCount: number;
  /** Streams of one HTTP/2 connection at a time. */
  readonly streams: number;
  /** Milliseconds for the headers of a request to arrive. */
  readonly headersTimeout: number;
  /** Milliseconds for a whole request to arrive. */
  readonly requestTimeout: number;
  /** Milliseconds that a connection without a request is kept. */
  readonly idleTimeout: number;
  /** Milliseconds until a connection on which nothing moves is ended, also one whose client does not read its answers. */
  readonly stalledTimeout: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headerBytes: 32 * 1024,
  headerCount: 200,
  streams: 128,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  idleTimeout: 72_000,
  // Longer than any request may take without a byte either way.
  stalledTimeout: 120_000,
};
