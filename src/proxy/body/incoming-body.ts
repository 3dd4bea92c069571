import type { Readable } from "node:stream";
import type { HeaderPair } from "../../egress/request-framing.js";
import { type BodyHead, type Hold, readHead } from "../buffered-body.js";
import { headerValue } from "../forward.js";

/** The largest body that is transformed (specification, Limits), and the largest in which every reference is replaced. */
export const MAX_BUFFERED = 5 * 1024 * 1024;

/** What is read of a body that may be large before the request begins. References behind it come too late. */
export const HEAD = 64 * 1024;

/** A body as its caller sends it. */
export interface IncomingBody {
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  readonly hold: Hold;
}

/** @throws {Fault} as {@link readHead}. */
export function readBegun({ body, hold }: IncomingBody): Promise<BodyHead> {
  return readHead(body, HEAD, hold);
}

/** The length that the headers state. */
export function promisedLength(headers: readonly HeaderPair[]): number | undefined {
  const promised = headerValue(headers, "content-length");
  return promised !== undefined && /^[0-9]{1,15}$/.test(promised) ? Number(promised) : undefined;
}

/** Whether nobody stated the length: what is not text goes out in the same way. */
export function isSentInPieces({ headers, body }: IncomingBody): boolean {
  return !Buffer.isBuffer(body) && promisedLength(headers) === undefined;
}
