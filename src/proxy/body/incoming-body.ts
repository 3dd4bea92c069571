import type { BodyHead } from "../../memory/collect-body.js";
import { type CallerBody, contentLengthIn, readCallerHead } from "../buffered-body.js";

/**
 * The largest body that is transformed (docs/code.md, Limits), in a test run too, and the largest in which every reference
 * is replaced.
 */
export const MAX_BUFFERED_BYTES = 5 * 1024 * 1024;

/** Bytes read of a body of unknown size before the request begins. References behind them come too late. */
export const HEAD_BYTES = 64 * 1024;

/** @throws {Fault} as {@link readCallerHead}. */
export function readBodyHead({ body, headers, memory }: CallerBody): Promise<BodyHead> {
  return readCallerHead(body, memory, HEAD_BYTES, contentLengthIn(headers));
}

/** Whether the length was not announced: such a body is sent chunked unless it is text. */
export function isSentInPieces({ headers, body }: CallerBody): boolean {
  return !Buffer.isBuffer(body) && contentLengthIn(headers) === undefined;
}
