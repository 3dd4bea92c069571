import type { IdleLimits } from "./idle-connections.js";

export const CONNECTION_LIMITS = {
  headerBytes: 32 * 1024,
  headerCount: 200,
  /**
   * Bytes and headers of an HTTP/2 request above which its stream is reset. Requests between these limits and those
   * above get a response that names the limit.
   */
  readHeaderBytes: 64 * 1024,
  // Before a client confirms the limit of bytes, each of them can be 4 KB from a byte on the wire.
  readHeaderCount: 256,
  streams: 128,
  /** Milliseconds for the headers of a request to arrive. */
  headersTimeout: 10_000,
  /** Milliseconds for a whole request to arrive. */
  requestTimeout: 60_000,
  /** Milliseconds that an idle connection is kept, as `Keep-Alive` announces. */
  idleTimeout: 72_000,
  /**
   * Milliseconds that it is kept longer than announced. A client that ends its connections by then, but looks at its clock
   * late, would send a request to one that is being closed: undici looks once a second, in a process that may be busy.
   */
  idleMargin: 5_000,
  /**
   * Milliseconds without any data after which a connection is ended, including one whose client does not read its
   * responses: longer than any request may take without a byte in either direction.
   */
  stalledTimeout: 120_000,
  // Browsers open 6 to a host. 4,096 take 160 MB.
  idle: { ofAddress: 256, settledMs: 1_000, unproven: 4_096, proven: 8_192 } satisfies IdleLimits,
};

export type ConnectionLimits = Readonly<typeof CONNECTION_LIMITS>;
