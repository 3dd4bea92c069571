import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { takeTurn } from "../../base/caller-turns.js";
import { StreamRequest } from "./stream-exchange.js";

/** Limits of draining an unread body. The connection of a larger body, or of a slower client, is closed. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_MS = 1_000;

/**
 * Drains an unread body before the response is sent. A client that is answered while it sends may find its connection
 * or stream reset before it has read the response, and would take that for a failure worth a retry.
 * @returns whether the body was read completely: the connection may then serve another request, and must be closed
 * otherwise.
 */
export async function dropUnreadBody(request: IncomingMessage | StreamRequest): Promise<boolean> {
  // A request without a body is complete once the parser has returned, which is after this turn.
  await Promise.resolve();
  const body = request instanceof StreamRequest ? request.stream : request;
  if (request.complete || body.destroyed) return request.complete;
  const isAllRead = await drained(request, body);
  // Hundreds of bodies that are held may end in the same turn of the event loop.
  await takeTurn();
  return isAllRead;
}

function drained(request: IncomingMessage | StreamRequest, body: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    let bytes = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) end();
    };
    const end = () => {
      clearTimeout(timer);
      body.off("data", count).off("end", end).off("close", end).pause();
      resolve(request.complete);
    };
    const timer = setTimeout(end, MAX_MS);
    body.on("data", count).once("end", end).once("close", end).resume();
  });
}
