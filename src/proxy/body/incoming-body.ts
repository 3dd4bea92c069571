import type { BodyHead } from "../../memory/collect-body.js";
import { announcedIn, type CallerBody, readCallerHead } from "../buffered-body.js";

/** The largest body that is transformed (specification, Limits), and the largest in which every reference is replaced. */
export const MAX_BUFFERED = 5 * 1024 * 1024;

/** What is read of a body that may be large before the request begins. References behind it come too late. */
export const HEAD = 64 * 1024;

/** @throws {Fault} as {@link readCallerHead}. */
export function readBegun({ body, headers, memory }: CallerBody): Promise<BodyHead> {
  return readCallerHead(body, memory, HEAD, announcedIn(headers));
}

/** Whether nobody stated the length: what is not text goes out in the same way. */
export function isSentInPieces({ headers, body }: CallerBody): boolean {
  return !Buffer.isBuffer(body) && announcedIn(headers) === undefined;
}
