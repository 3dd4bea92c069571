import type { Transform } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
} from "node:zlib";
import { Fault, invalid } from "../../base/fault.js";
import { ReferenceScanner } from "./reference-scanner.js";

const CHUNK = { chunkSize: 64 * 1024 };

type Decoder = Transform & Pick<Gunzip, "bytesWritten">;

/** Decoders by coding, given the first byte of the compressed data. */
const DECODERS: ReadonlyMap<string, (first: number) => Decoder> = new Map<string, (first: number) => Decoder>([
  ["gzip", () => createGunzip(CHUNK)],
  ["x-gzip", () => createGunzip(CHUNK)],
  // A zlib header has 8 in its lower half. Some clients send the stream without one (RFC 9110, 8.4.1.2).
  ["deflate", (first) => ((first & 0x0f) === 8 ? createInflate(CHUNK) : createInflateRaw(CHUNK))],
  ["br", () => createBrotliDecompress(CHUNK)],
  ["zstd", () => createZstdDecompress(CHUNK)],
]);

export function canDecompress(coding: string): boolean {
  return DECODERS.has(coding);
}

/**
 * Decompressed size that every body may have, and the limit beyond it as a multiple of the compressed size. JSON grows 5
 * to 50 times.
 */
const FREE_BYTES = 5 * 1024 * 1024;
const MAX_RATIO = 100;

/** Zstandard frames that may follow each other. Each gets a decoder of its own, which takes 0.1 ms. */
const MAX_FRAMES = 100;

/** Searches a compressed body for references, chunk by chunk, without keeping the result. */
export class Decompression {
  readonly #coding: string;
  readonly #scanner = new ReferenceScanner();
  #decoder: Decoder | undefined;
  #failure: Fault | undefined;
  #frames = 0;
  #compressedBytes = 0;
  #decompressedBytes = 0;

  constructor(coding: string) {
    this.#coding = coding;
  }

  /**
   * Decompresses a whole chunk.
   * @throws {Fault} (as a rejection) if it has a reference, does not match its coding, or decompresses to too much.
   */
  async push(chunk: Buffer): Promise<void> {
    this.#compressedBytes += chunk.length;
    for (let left = chunk; left.length > 0; ) left = await this.#decompress(left);
  }

  /** Returns the bytes behind a frame that ends here. */
  async #decompress(bytes: Buffer): Promise<Buffer> {
    const decoder = this.#decoder ?? this.#start(bytes);
    this.#decoder = decoder;
    const before = decoder.bytesWritten;
    await settled(decoder, (done) => decoder.write(bytes, done));
    if (this.#failure) throw this.#failure;
    return this.#behind(bytes.subarray(decoder.bytesWritten - before));
  }

  /**
   * Node's decoders ignore what follows the compressed data. Only padding with zeros, as of gzip, and further Zstandard frames
   * (RFC 8878, 3.1) may follow.
   */
  #behind(left: Buffer): Buffer {
    if (left.every((byte) => byte === 0)) return Buffer.alloc(0);
    if (this.#coding !== "zstd" || this.#frames >= MAX_FRAMES) throw notDecompressible();
    this.#decoder = undefined;
    return left;
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

  #start([first = 0]: Buffer): Decoder {
    const make = DECODERS.get(this.#coding);
    if (!make) throw new Error("this coding is not supported");
    this.#frames += 1;
    return make(first)
      .on("data", (bytes: Buffer) => this.#search(bytes))
      .on("error", () => this.#fail(notDecompressible()));
  }

  #search(bytes: Buffer): void {
    this.#decompressedBytes += bytes.length;
    this.#scanner.push(bytes);
    if (this.#scanner.hasFound) this.#fail(referenceInCompressedBody());
    if (this.#decompressedBytes > FREE_BYTES + this.#compressedBytes * MAX_RATIO) this.#fail(decompressesToTooMuch());
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
export function referenceInCompressedBody(): Fault {
  return invalid("body", "must not hold references while it is compressed: send it without a Content-Encoding");
}

function notDecompressible(): Fault {
  return invalid("body", "must be compressed as its Content-Encoding says");
}

function decompressesToTooMuch(): Fault {
  return new Fault("body_too_large", `A compressed body must not decompress to more than ${MAX_RATIO} times its size.`);
}
