import type { Readable } from "node:stream";
import { Fault } from "../base/fault.js";
import { collectResponse } from "../egress/collect-response.js";
import { EgressError } from "../egress/egress-error.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { BodyTooLarge } from "../memory/body-errors.js";
import { BodyFault } from "../memory/body-fault.js";
import { SMALL_BODY_BYTES } from "../memory/body-sizes.js";
import { type BodyHead, collectBody, collectHead } from "../memory/collect-body.js";
import type { RequestMemory } from "../memory/request-memory.js";
import { headerValue } from "./forward.js";

export interface CallerBody {
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  readonly memory: RequestMemory;
}

/**
 * A body that is not a stream is in memory and reserved already.
 * @throws {Fault} body_too_large; unavailable if there is no memory for it; malformed_body if it ends early or arrives
 * too slowly.
 */
export async function readCallerBody({ body, headers, memory }: CallerBody, maxBytes: number): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return withinLimit(body, maxBytes);
  return refusing(body, collectBody(body, memory, { maxBytes, announced: contentLengthIn(headers) }));
}

/**
 * @param announced remaining bytes; undefined if unknown.
 * @throws {Fault} as {@link readCallerBody}, except for its length.
 */
export async function readCallerHead(
  body: Readable | Buffer,
  memory: RequestMemory,
  wanted: number,
  announced: number | undefined,
): Promise<BodyHead> {
  if (Buffer.isBuffer(body)) return { bytes: body, rest: undefined };
  return refusing(body, collectHead(body, memory, wanted, announced));
}

async function refusing<T>(body: Readable, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    body.destroy();
    if (error instanceof BodyTooLarge) throw tooLarge(error.maxBytes);
    throw readFault(error);
  }
}

/** A body with its headers, to be read to its end. */
export interface HeadedBody {
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
}

/**
 * Reads a destination's response to its end. It does not wait for memory: the destination has acted, and the caller must
 * learn of it.
 * @throws {Fault} body_too_large; unavailable if there is no memory for it; destination_unreachable or
 * destination_timeout if it ends early.
 */
export async function readResponseBody(
  { headers, body }: HeadedBody,
  maxBytes: number,
  memory: RequestMemory,
): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return withinLimit(body, maxBytes);
  try {
    return await collectResponse(body, withinMemory(maxBytes, memory, contentLengthIn(headers)));
  } catch (error) {
    throw readFault(error);
  }
}

/** The caller's fault for a body that could not be read. */
function readFault(error: unknown): Fault {
  if (error instanceof EgressError) return error.toFault();
  return error instanceof Fault ? error : new Fault("malformed_body", "The body ended before it was complete.");
}

/** Admits the bytes of a response up to a limit, and reserves memory for them. */
function withinMemory(maxBytes: number, memory: RequestMemory, announced: number | undefined): (bytes: number) => void {
  let size = 0;
  let reserved = 0;
  const reserve = (bytes: number) => {
    memory.reserveNow(bytes);
    reserved = bytes;
  };
  return (bytes) => {
    size += bytes;
    if (size > maxBytes) throw tooLarge(maxBytes);
    if (reserved === 0) reserve(Math.min(announced ?? SMALL_BODY_BYTES, maxBytes));
    if (size > reserved) reserve(maxBytes);
  };
}

export function contentLengthIn(headers: readonly HeaderPair[]): number | undefined {
  const length = headerValue(headers, "content-length");
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

function withinLimit(body: Buffer, maxBytes: number): Buffer {
  if (body.length > maxBytes) throw tooLarge(maxBytes);
  return body;
}

function tooLarge(maxBytes: number): Fault {
  return new BodyFault(
    "too_large",
    "body_too_large",
    `A body that is read or transformed must not be larger than ${maxBytes} bytes.`,
  );
}
