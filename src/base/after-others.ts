import { setImmediate as nextTurn } from "node:timers/promises";

/** Work on this many bytes takes less than a millisecond. */
const FEW_BYTES = 64 * 1024;

export function isLarge(bytes: number): boolean {
  return bytes > FEW_BYTES;
}

/** Lets the event loop serve others between two steps of work on many bytes. 5 MB hold it for up to 50 ms a step. */
export async function afterOthers(bytes: number): Promise<void> {
  if (isLarge(bytes)) await nextTurn();
}
