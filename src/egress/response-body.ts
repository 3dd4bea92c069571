import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { EgressError } from "./egress-error.js";

export interface ResponseBodyLimits {
  /** Milliseconds in which a byte must move, whether the destination or the reader is waiting. */
  readonly idleMs: number;
  /** Size limit; beyond it the body fails with `body_too_large`. */
  readonly maxBytes: number;
}

/**
 * The raw bytes of a response, undecoded. Ends only if the response is complete; any other end is an EgressError. A body
 * longer than the stream's buffer holds its connection until it is read or destroyed; if neither happens, it fails
 * after the idle time.
 */
export class ResponseBody extends Readable {
  readonly #source: IncomingMessage;
  readonly #maxBytes: number;
  readonly #idle: NodeJS.Timeout;
  #bytes = 0;

  constructor(source: IncomingMessage, limits: ResponseBodyLimits) {
    super();
    this.#source = source;
    this.#maxBytes = limits.maxBytes;
    this.#idle = setTimeout(() => this.destroy(new EgressError("body_timeout", "unknown")), limits.idleMs);
    source.on("data", (chunk: Buffer) => this.#take(chunk));
    source.once("end", () => {
      clearTimeout(this.#idle);
      this.push(null);
    });
    source.on("error", (error) => this.destroy(new EgressError("connection_lost", "unknown", error)));
    // An error without listeners must not end the process; readers still get it.
    this.on("error", () => {});
    // Small bodies are buffered at once, which frees their connection whether or not they are read.
    source.pause();
    this.read(0);
  }

  /** Called after every chunk, once there is room for another. */
  override _read(): void {
    this.#idle.refresh();
    this.#source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.#idle);
    // A complete response has returned its connection to the pool, so destroying it would have no effect.
    if (!this.#source.complete || !this.#source.readableEnded) this.#source.destroy();
    callback(error);
  }

  #take(chunk: Buffer): void {
    if (this.destroyed) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#maxBytes) this.destroy(new EgressError("body_too_large", "unknown"));
    else if (!this.push(chunk)) this.#source.pause();
  }
}
