import type { Readable } from "node:stream";

/**
 * Reads a response to its end. Uses events: an iterator creates promises for each chunk and a watch on the stream's end,
 * which cost 20 us for a small body.
 * @param reserve gets the bytes of each chunk before it is kept; what it throws ends the reading and the response.
 * @throws the error that ended the response early; the error of `reserve`.
 */
export function collectResponse(body: Readable, reserve: (bytes: number) => void): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  const end = () => resolve(Buffer.concat(chunks));
  // Also emitted after the end.
  const close = () => {
    if (!body.readableEnded) reject(body.errored ?? new Error("The body was abandoned."));
  };
  if (body.readableEnded) end();
  else if (body.closed) close();
  body
    .on("data", (chunk: Buffer | string) => {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
      try {
        reserve(bytes.length);
        chunks.push(bytes);
      } catch (refusal) {
        reject(refusal);
        body.destroy();
      }
    })
    .once("end", end)
    .once("error", reject)
    .once("close", close);
  return promise;
}
