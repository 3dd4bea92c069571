import type { Server } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/** After this many milliseconds any turn without a new connection will do. */
const MAX_WAIT_MS = 1_000;

/**
 * The most connections that the kernel lets wait: Node's default for `listen`. After so many, all that waited at the start are
 * accepted. A bound of time would reset them on a machine that is busy with something else.
 */
const MAX_WAITING = 511;

/** Milliseconds of a turn in which hardly any connection can arrive unseen. */
const SHORT_TURN_MS = 0.2;

/** Creates the function that stops `server` from listening. Every call waits for the same close. */
export function createStopper(server: Server): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  return () => (stopping ??= stopListening(server));
}

/**
 * Closes the port when no connection waits to be accepted: the kernel resets those that wait. (Those of a server with
 * several processes wait in the primary, where nothing counts them.) The event loop accepts one connection per turn
 * (libuv since 1.45), so a turn without one found the queue empty. A short turn leaves the least time for another to
 * arrive before the close.
 * @returns when no more connections are accepted.
 */
async function stopListening(server: Server): Promise<void> {
  let accepted = 0;
  const count = () => (accepted += 1);
  server.on("connection", count);
  const start = performance.now();
  // Signals arrive with what the event loop has read already. The next turn accepts again.
  await nextTurn();
  for (let isEmpty = false; !isEmpty && accepted < MAX_WAITING; ) {
    const before = { accepted, time: performance.now() };
    await nextTurn();
    const now = performance.now();
    const isShort = now - before.time <= SHORT_TURN_MS || now - start > MAX_WAIT_MS;
    isEmpty = accepted === before.accepted && isShort;
  }
  server.off("connection", count);
  server.close();
}
