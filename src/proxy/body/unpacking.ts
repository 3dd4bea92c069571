import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from "node:zlib";
import { Fault, invalid } from "../../base/fault.js";
import { ReferenceScanner } from "./reference-scanner.js";

const CHUNK = { chunkSize: 64 * 1024 };

/** Decoders by coding, given the first byte of the compressed data. */
const DECODERS: ReadonlyMap<string, (first: number) => Transform> = new Map<string, (first: number) => Transform>([
  ["gzip", () => createGunzip(CHUNK)],
  ["x-gzip", () => createGunzip(CHUNK)],
  // A zlib header has 8 in its lower half. Some clients send the stream without one (RFC 9110, 8.4.1.2).
  ["deflate", (first) => ((first & 0x0f) === 8 ? createInflate(CHUNK) : createInflateRaw(CHUNK))],
  ["br", () => createBrotliDecompress(CHUNK)],
  ["zstd", () => createZstdDecompress(CHUNK)],
]);

export function isUnpackable(coding: string): boolean {
  return DECODERS.has(coding);
}

/**
 * Size that every body may unpack to, and the limit beyond it as a multiple of the body's size. JSON unpacks to 5 to 50
 * times.
 */
const FREE_BYTES = 5 * 1024 * 1024;
const MOST_RATIO = 100;

/** Searches a compressed body for references, chunk by chunk, without keeping the result. */
export class Unpacking {
  readonly #coding: string;
  readonly #scanner = new ReferenceScanner();
  #decoder: Transform | undefined;
  #failure: Fault | undefined;
  #packed = 0;
  #unpacked = 0;

  /** @param coding see {@link isUnpackable}. */
  constructor(coding: string) {
    this.#coding = coding;
  }

  /**
   * Unpacks a whole chunk.
   * @throws {Fault} (as a rejection) if it has a reference, does not match its coding, or unpacks to too much.
   */
  async push(chunk: Buffer): Promise<void> {
    const [first] = chunk;
    if (first === undefined) return;
    this.#packed += chunk.length;
    const decoder = this.#decoder ?? this.#start(first);
    this.#decoder = decoder;
    await settled(decoder, (done) => decoder.write(chunk, done));
    if (this.#failure) throw this.#failure;
  }

  /** As {@link push}, for the rest that the decoder holds at the end of the body. */
  async end(): Promise<void> {
    const decoder = this.#decoder;
    if (decoder) await settled(decoder, (done) => decoder.once("end", done).end());
    if (this.#failure) throw this.#failure;
  }

  destroy(): void {
    this.#decoder?.destroy();
  }

  #start(first: number): Transform {
    const make = DECODERS.get(this.#coding);
    if (!make) throw new Error("this coding is not supported");
    return make(first)
      .on("data", (bytes: Buffer) => this.#look(bytes))
      .on("error", () => this.#fail(invalid("body", "must be packed as its Content-Encoding says")));
  }

  #look(bytes: Buffer): void {
    this.#unpacked += bytes.length;
    this.#scanner.push(bytes);
    if (this.#scanner.hasFound) this.#fail(packedReference());
    if (this.#unpacked > FREE_BYTES + this.#packed * MOST_RATIO) this.#fail(unpacksToTooMuch());
  }

  #fail(fault: Fault): void {
    this.#failure ??= fault;
    this.#decoder?.destroy();
  }
}

/** Waits for an event of a stream, or for its end if the event never comes. */
function settled(stream: Transform, step: (done: () => void) => unknown): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => {
    stream.off("close", done);
    resolve();
  };
  stream.once("close", done);
  if (stream.destroyed) done();
  else step(done);
  return promise;
}

/** The fault of a body with a reference that cannot be replaced. */
export function packedReference(): Fault {
  return invalid("body", "must not hold references while it is packed: send it without a Content-Encoding");
}

function unpacksToTooMuch(): Fault {
  return new Fault("body_too_large", `A packed body must not unpack to more than ${MOST_RATIO} times its size.`);
}
