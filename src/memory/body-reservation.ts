import { IncompleteBody } from "./body-errors.js";
import { SMALL_BODY_BYTES } from "./body-sizes.js";
import type { RequestMemory, Reservation } from "./request-memory.js";

export type BodyMemory = Pick<RequestMemory, "isClosed" | "allowance" | "reserve" | "arrives">;

/** Most RPC messages of unknown length are smaller. */
const TINY_BODY_BYTES = 4 * 1024;

/** The reservation for a body of unknown length after `size` bytes. */
export function nextReservation(size: number, maxBytes: number): number {
  const step = [TINY_BODY_BYTES, SMALL_BODY_BYTES].find((bytes) => size <= bytes) ?? maxBytes;
  return Math.min(step, maxBytes);
}

/** @throws {IncompleteBody} if the caller disconnects meanwhile. */
export function reserveBody(memory: BodyMemory, bytes: number): Reservation | Promise<Reservation> {
  try {
    const reservation = memory.reserve(bytes);
    if (!(reservation instanceof Promise)) return reservation;
    return reservation.catch((refusal: unknown) => throwRefusal(memory, refusal));
  } catch (refusal) {
    return throwRefusal(memory, refusal);
  }
}

function throwRefusal({ isClosed }: BodyMemory, refusal: unknown): never {
  throw isClosed ? new IncompleteBody() : refusal;
}
