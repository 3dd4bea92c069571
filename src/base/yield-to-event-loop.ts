import { setImmediate as nextTurn } from "node:timers/promises";

/** Work on fewer bytes takes less than a millisecond. */
const FEW_BYTES = 64 * 1024;

export function isLarge(bytes: number): boolean {
  return bytes > FEW_BYTES;
}

/** Yields to the event loop between two steps of work on many bytes: a step over 5 MB takes up to 20 ms. */
export async function yieldToEventLoop(bytes: number): Promise<void> {
  if (isLarge(bytes)) await nextTurn();
}
