import type { RequestMemory, Reservation } from "../../src/memory/request-memory.js";

const NO_RESERVATION: Reservation = { shrink: () => {} };

/** Memory without a limit, for parts that get theirs from a request. */
export const UNLIMITED_MEMORY: RequestMemory = {
  isClosed: false,
  allowance: { maxBytes: Number.POSITIVE_INFINITY, timeMs: 60_000 },
  bodyBytes: 0,
  prove: () => {},
  reserve: () => NO_RESERVATION,
  reserveNow: () => NO_RESERVATION,
  reserveRead: async () => NO_RESERVATION,
  reserveReadNow: () => NO_RESERVATION,
  during: (work) => work(),
};
