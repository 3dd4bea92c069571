import type { Readable } from "node:stream";
import { Fault } from "../base/fault.js";
import { EgressError } from "../egress/egress-error.js";

/** Makes room for so many bytes that are kept until a call is answered. @throws {Fault} unavailable where there is none. */
export type Hold = (bytes: number) => void;

/**
 * Reads a body to its end. One that is no stream is in memory already, and has its room.
 * @throws {Fault} body_too_large; unavailable where there is no room for it; when it ends early malformed_body for a
 * caller's, destination_unreachable or destination_timeout for a destination's.
 */
export async function readWhole(body: Readable | Buffer, most: number, hold: Hold): Promise<Buffer> {
  if (Buffer.isBuffer(body)) {
    if (body.length > most) throw tooLarge(most);
    return body;
  }
  try {
    return await bytesOf(body, most, hold);
  } catch (error) {
    if (error instanceof EgressError) throw error.toFault();
    throw error instanceof Fault ? error : new Fault("malformed_body", "The body ended before it was complete.");
  }
}

/** By its events: an iterator makes promises for each chunk, and a watch over the stream's end: 20 us for a small body. */
function bytesOf(body: Readable, most: number, hold: Hold): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  const end = () => resolve(Buffer.concat(chunks));
  // Comes after the end too.
  const close = () => {
    if (!body.readableEnded) reject(body.errored ?? new Error("The body was given up."));
  };
  const keep = (bytes: Buffer) => {
    size += bytes.length;
    if (size > most) throw tooLarge(most);
    hold(bytes.length);
    chunks.push(bytes);
  };
  if (body.readableEnded) end();
  else if (body.closed) close();
  body
    .on("data", (chunk: Buffer | string) => {
      try {
        keep(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk));
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

function tooLarge(most: number): Fault {
  return new Fault("body_too_large", `A body that is read or transformed must not be larger than ${most} bytes.`);
}
