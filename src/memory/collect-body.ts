import type { Readable } from "node:stream";
import { takeTurn } from "../base/caller-turns.js";
import { ArrivingBody } from "./arriving-body.js";
import { BodyTooLarge } from "./body-errors.js";
import { type BodyMemory, nextReservation, reserveBody } from "./body-reservation.js";
import type { ReadingEnd } from "./reading-end.js";
import type { Reservation } from "./request-memory.js";

export interface BodyLimits {
  readonly maxBytes: number;
  /** Announced length in bytes; undefined if unknown. */
  readonly announced: number | undefined;
  /** Whether all announced bytes wait in the stream, followed by its end. */
  readonly hasArrived?: boolean | undefined;
  /** Ends the reading; its reason becomes the error. */
  readonly end?: ReadingEnd;
}

/**
 * Reads the whole body of a caller within the caller's share of the memory. Reserves the announced length before it
 * reads: otherwise bodies would wait for each other's memory with half of it in hand. For an unknown length it reserves
 * a tiny, then a small, then the largest size, and keeps what the complete body needs. A refused body is left unread,
 * and not destroyed.
 * @throws {BodyTooLarge} or {IncompleteBody}; {BodyFault} if there is no memory for it or it does not arrive in time.
 */
export async function collectBody(body: Readable, memory: BodyMemory, limits: BodyLimits): Promise<Buffer> {
  const maxBytes = Math.min(limits.maxBytes, memory.allowance.maxBytes);
  const { announced, end } = limits;
  if (announced !== undefined && announced > maxBytes) throw new BodyTooLarge(maxBytes);
  const expected = announced ?? nextReservation(1, maxBytes);
  if (end?.reason !== undefined) throw end.reason;
  const reservation = reserveBody(memory, expected);
  if (limits.hasArrived && !(reservation instanceof Promise)) {
    const bytes: unknown = body.read();
    if (Buffer.isBuffer(bytes)) {
      await takeTurn();
      return bytes;
    }
  }
  const first = reservation instanceof Promise ? await grantedBefore(end, reservation) : reservation;
  try {
    return await new ArrivingBody(body, memory, maxBytes, { bytes: expected, first }).collect(end);
  } finally {
    // Also if it is refused: one look ends all bodies that are late.
    await takeTurn();
  }
}

export interface BodyHead {
  readonly bytes: Buffer;
  /** Undefined if the body has ended. */
  readonly rest: Readable | undefined;
}

/**
 * Reads the first bytes of a body: at least as many as requested, unless it ends before. The stream of the rest is
 * paused.
 * @param announced remaining bytes; undefined if unknown.
 * @throws {IncompleteBody}; {BodyFault} if there is no memory for it or it does not arrive in time.
 */
export async function collectHead(
  body: Readable,
  memory: BodyMemory,
  wanted: number,
  announced: number | undefined,
): Promise<BodyHead> {
  const expected = Math.min(announced ?? nextReservation(1, wanted), wanted);
  const first = await reserveBody(memory, expected);
  const bytes = await new ArrivingBody(body, memory, wanted, { bytes: expected, first }).collect(undefined, wanted);
  return { bytes, rest: bytes.length < wanted ? undefined : body };
}

/**
 * @throws the reason that ended the reading meanwhile. A reservation granted later is released with the request's other
 * memory.
 */
async function grantedBefore(end: ReadingEnd | undefined, reservation: Promise<Reservation>): Promise<Reservation> {
  if (!end) return reservation;
  const ended = new Promise<never>((_, reject) => end.listen(reject));
  try {
    return await Promise.race([reservation, ended]);
  } finally {
    end.listen(undefined);
  }
}
