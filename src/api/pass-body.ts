import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";

/**
 * Writes a body behind the head of a response, and leaves that open. A slow reader makes the body wait. When the reader
 * leaves, the body is destroyed.
 *
 * By hand, as `pipeline` of node:stream/promises ends with an abort each time, and the DOMException of that: 5 % of what a
 * proxied call cost.
 *
 * @param reader aborted once nobody reads the response any more.
 * @returns once all of the body is written; the response may then be ended.
 * @throws (as a rejection) when the body breaks off or the reader leaves. What was written is then not all: the response
 * must be destroyed.
 */
export function passBody(body: Readable, response: ServerResponse, reader: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const resume = () => body.resume();
  const close = () => {
    response.off("drain", resume).off("close", leave);
    // Comes after the end too. An error that nobody sees would take 4 % of the call, for its stack trace.
    if (!body.readableEnded) reject(body.errored ?? new Error("The body broke off."));
  };
  const leave = () => {
    body.destroy();
  };
  // Both may have happened before anybody listened.
  if (body.closed) close();
  if (reader.aborted) leave();
  // A write that comes too late is told as an event, which would end the process if nobody listened.
  response.on("error", leave).on("drain", resume).once("close", leave);
  body
    .on("data", (chunk: Buffer) => {
      if (!response.write(chunk)) body.pause();
    })
    .once("end", resolve)
    .once("error", reject)
    .once("close", close);
  return promise;
}
