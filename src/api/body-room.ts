import type { IncomingMessage, ServerResponse } from "node:http";
import { unavailable } from "../store/database-error.js";

const MB = 1024 * 1024;

/**
 * Bounds the bodies that are in memory, of all requests together: of those that still arrive, and of those that are not
 * answered yet. Callers who send slowly could else have as many as there are connections and streams, each of 5 MB.
 */
export class BodyRoom {
  readonly #mostBytes: number;
  readonly #taken = new Map<IncomingMessage, number>();
  #total = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** What comes of the request counts from now on, until it is answered or its caller has left. */
  open(request: IncomingMessage, response: ServerResponse): void {
    this.#taken.set(request, 0);
    response.once("close", () => {
      this.#total -= this.#taken.get(request) ?? 0;
      this.#taken.delete(request);
    });
  }

  /** @throws {Fault} unavailable while there is no room for so many bytes more. */
  take(request: IncomingMessage, bytes: number): void {
    const taken = this.#taken.get(request);
    if (taken === undefined) return;
    if (this.#total + bytes > this.#mostBytes) throw unavailable("more is being sent than there is room for");
    this.#taken.set(request, taken + bytes);
    this.#total += bytes;
  }
}

/** That of the process, whose memory it is: as much as 25 bodies of the largest size by default. */
export const bodyRoom = new BodyRoom(128 * MB);
