import { setImmediate as nextTurn } from "node:timers/promises";
import { SMALL_BODY_BYTES } from "../memory/memory-budget.js";

/** Lets the event loop serve others between two steps of work on a large body, each of which takes up to 50 ms. */
export async function afterOthers(bodyBytes: number): Promise<void> {
  if (bodyBytes > SMALL_BODY_BYTES) await nextTurn();
}
