import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/**
 * The body of a request, detached from its connection. Destroying Node's own body would close the connection, which
 * must still carry the response.
 */
export class CallerBody extends Readable {
  readonly #source: IncomingMessage;

  constructor(source: IncomingMessage) {
    super();
    this.#source = source;
    source.pause();
    source.on("data", this.#take).once("end", this.#end).once("close", this.#close);
    source.on("error", this.#close);
    // An error of an unread body must not end the process when its caller disconnects.
    this.on("error", () => {});
    // A caller that has disconnected already causes no further event.
    if (source.aborted) this.#close();
  }

  override _read(): void {
    this.#source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#source.off("data", this.#take).off("end", this.#end).off("close", this.#close);
    if (!this.#source.readableEnded) this.#source.pause();
    callback(error);
  }

  readonly #take = (chunk: Buffer): void => {
    if (!this.push(chunk)) this.#source.pause();
  };

  /** An HTTP/2 stream that its caller resets without an error ends like a complete one. */
  readonly #end = (): void => {
    if (this.#source.aborted) this.#close();
    else this.push(null);
  };

  readonly #close = (): void => {
    if (this.#source.aborted || !this.#source.readableEnded)
      this.destroy(new Error("The body ended before it was complete."));
  };
}
