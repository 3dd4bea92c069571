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
    throw readFault(error);
  }
}

/** The first bytes of a body, and the stream of the others, which waits. */
export interface BodyHead {
  readonly bytes: Buffer;
  /** Undefined where the body has ended. */
  readonly rest: Readable | undefined;
}

/**
 * Reads the first bytes of a body: at least as many as are wanted, unless it ends before.
 * @throws {Fault} as {@link readWhole}, but for the length.
 */
export async function readHead(body: Readable | Buffer, wanted: number, hold: Hold): Promise<BodyHead> {
  if (Buffer.isBuffer(body)) return { bytes: body, rest: undefined };
  const { promise, resolve, reject } = Promise.withResolvers<BodyHead>();
  const chunks: Buffer[] = [];
  let size = 0;
  const stop = () => body.off("data", take).off("end", end).off("error", reject).off("close", close);
  const end = () => {
    stop();
    resolve({ bytes: Buffer.concat(chunks), rest: undefined });
  };
  const close = () => {
    if (!body.readableEnded) reject(body.errored ?? new Error("The body was broken off."));
  };
  const take = (chunk: Buffer | string) => {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
    size += bytes.length;
    chunks.push(bytes);
    try {
      hold(bytes.length);
    } catch (refusal) {
      reject(refusal);
      body.destroy();
      return;
    }
    if (size < wanted) return;
    stop();
    body.pause();
    resolve({ bytes: Buffer.concat(chunks), rest: body });
  };
  if (body.readableEnded) end();
  else if (body.closed) close();
  body.on("data", take).once("end", end).once("error", reject).once("close", close);
  // A listener starts no stream that was paused.
  body.resume();
  return promise.catch((error: unknown) => {
    throw readFault(error);
  });
}

/** What a caller is told of a body that could not be read. */
function readFault(error: unknown): Fault {
  if (error instanceof EgressError) return error.toFault();
  return error instanceof Fault ? error : new Fault("malformed_body", "The body ended before it was complete.");
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
