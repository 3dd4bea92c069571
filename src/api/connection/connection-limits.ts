import type { IdleLimits } from "./idle-connections.js";

export interface ConnectionLimits {
  readonly headerBytes: number;
  readonly headerCount: number;
  /**
   * Bytes and headers of an HTTP/2 request above which its stream is reset. Requests between these limits and those
   * above get a response that names the limit.
   */
  readonly readHeaderBytes: number;
  readonly readHeaderCount: number;
  readonly streams: number;
  /** Milliseconds for the headers of a request to arrive. */
  readonly headersTimeout: number;
  /** Milliseconds for a whole request to arrive. */
  readonly requestTimeout: number;
  /** Milliseconds that an idle connection is kept. */
  readonly idleTimeout: number;
  /**
   * Milliseconds without any data after which a connection is ended, including one whose client does not read its
   * responses.
   */
  readonly stalledTimeout: number;
  readonly idle: IdleLimits;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headerBytes: 32 * 1024,
  headerCount: 200,
  readHeaderBytes: 64 * 1024,
  // Before a client confirms the limit of bytes, each of them can be 4 KB from a byte on the wire.
  readHeaderCount: 256,
  streams: 128,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  idleTimeout: 72_000,
  // Longer than any request may take without a byte in either direction.
  stalledTimeout: 120_000,
  // Browsers open 6 to a host. 4,096 take 160 MB.
  idle: { ofAddress: 256, settledMs: 1_000, unproven: 4_096, proven: 8_192 },
};
