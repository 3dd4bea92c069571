import type { IncomingMessage } from "node:http";

/** What is read of a body that nobody wants: more of it, or a slower client, has its connection closed. */
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_MS = 1_000;

/**
 * Reads what is left of a body that nobody wants, and drops it, so that the answer can be sent. A client that is answered
 * while it sends may find its connection or stream reset before it has read the answer, and would take that for a
 * failure that is worth a retry.
 * @returns whether the body is all read: the connection may then serve another request, and must be closed otherwise.
 */
export async function dropUnreadBody(request: IncomingMessage): Promise<boolean> {
  // A request without a body is complete once the parser has returned, which is after this turn.
  await Promise.resolve();
  if (request.complete || request.destroyed) return request.complete;
  return new Promise((resolve) => {
    let bytes = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) end();
    };
    const end = () => {
      clearTimeout(timer);
      request.off("data", count).off("end", end).off("close", end).pause();
      resolve(request.complete);
    };
    const timer = setTimeout(end, MOST_MS);
    request.on("data", count).once("end", end).once("close", end).resume();
  });
}
