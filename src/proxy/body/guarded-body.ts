import { Transform, type TransformCallback } from "node:stream";
import { Fault } from "../../base/fault.js";
import type { Decompression } from "./decompression.js";
import { ReferenceScanner } from "./reference-scanner.js";

/** Passes a body through unchanged, and aborts it before any forbidden byte leaves. */
export abstract class GuardedStream extends Transform {
  #refused: Fault | undefined;

  constructor() {
    super();
    // The sender of the body reads `refused`. An error without a listener would end the process.
    this.on("error", () => {});
  }

  /** Why this guard aborted the body. Undefined if it did not, or if the caller aborted. */
  get refused(): Fault | undefined {
    return this.#refused;
  }

  protected refuse(fault: Fault, done: TransformCallback): void {
    this.#refused = fault;
    done(fault);
  }
}

/** Guards the rest of a large body: references can be replaced only before the request has begun. */
export class GuardedBody extends GuardedStream {
  readonly #scanner = new ReferenceScanner();
  readonly #refusal: () => Fault;

  constructor(refusal: () => Fault) {
    super();
    this.#refusal = refusal;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const passed = this.#scanner.push(chunk);
    if (this.#scanner.hasFound) this.refuse(this.#refusal(), done);
    else done(null, passed);
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#scanner.end());
  }
}

/**
 * Guards the rest of a compressed body by its content. A chunk passes once everything that it decompresses to was searched.
 */
export class GuardedCompressedBody extends GuardedStream {
  readonly #decompression: Decompression;

  constructor(decompression: Decompression) {
    super();
    this.#decompression = decompression;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#decompression.push(chunk).then(
      () => done(null, chunk),
      (error: unknown) => this.refuse(sourceFault(error), done),
    );
  }

  override _flush(done: TransformCallback): void {
    this.#decompression.end().then(
      () => done(),
      (error: unknown) => this.refuse(sourceFault(error), done),
    );
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#decompression.destroy();
    done(error);
  }
}

function sourceFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault("internal", "Something went wrong on our side.", { cause: error });
}
