import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/**
 * The body of a request, cut loose from its connection. Whoever gives a body up destroys it; of Node's own that would end
 * the connection too, on which the answer is still to go out.
 */
export class CallerBody extends Readable {
  readonly #source: IncomingMessage;

  constructor(source: IncomingMessage) {
    super();
    this.#source = source;
    source.pause();
    source.on("data", this.#take).once("end", this.#end).once("close", this.#close);
    source.on("error", this.#close);
    // A body that nobody reads any more must not bring the process down when its caller leaves.
    this.on("error", () => {});
    // What its caller has left by now tells of it no more.
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

  /** A stream of HTTP/2 that its caller resets without an error ends like one that is complete. */
  readonly #end = (): void => {
    if (this.#source.aborted) this.#close();
    else this.push(null);
  };

  readonly #close = (): void => {
    if (this.#source.aborted || !this.#source.readableEnded)
      this.destroy(new Error("The body ended before it was complete."));
  };
}
