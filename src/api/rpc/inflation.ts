import { AsyncLocalStorage } from "node:async_hooks";
import { type BrotliDecompress, createBrotliDecompress, createGunzip, type Gunzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { nextReservation } from "../../memory/body-reservation.js";

export interface InflatingCall {
  /**
   * Reserves memory for the inflated message, which may be a thousand times larger than the received one.
   * @throws {ConnectError} if there is no memory.
   */
  reserve(bytes: number): Promise<void>;
  /** Releases what a completely inflated message does not need. */
  end(bytes: number): void;
  /** Checks an inflated message, and returns what is to be parsed. @throws {ConnectError} to refuse it. */
  read(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
}

/** Connect passes no information about the call to a compression. */
const calls = new AsyncLocalStorage<InflatingCall>();

/** Serves a call whose messages may be compressed. */
export function inflatingFor<T>(call: InflatingCall, serve: () => Promise<T>): Promise<T> {
  return calls.run(call, serve);
}

/** A message of 5 MB arrives in 80 chunks, each of which takes a turn of the inflating threads. */
const PIECES = { chunkSize: 64 * 1024 };

export const COMPRESSIONS: readonly Compression[] = [
  { ...compressionGzip, decompress: (bytes, maxBytes) => inflate(createGunzip(PIECES), bytes, maxBytes) },
  { ...compressionBrotli, decompress: (bytes, maxBytes) => inflate(createBrotliDecompress(PIECES), bytes, maxBytes) },
];

/** Inflates in chunks: a message that is too large, or has no memory, is never held completely. */
async function inflate(
  inflater: Gunzip | BrotliDecompress,
  bytes: Uint8Array,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes.length === 0) return new Uint8Array(0);
  const call = calls.getStore();
  const pieces: Uint8Array[] = [];
  let size = 0;
  let reserved = 0;
  inflater.end(bytes);
  try {
    for await (const piece of inflater) {
      if (!(piece instanceof Uint8Array)) throw new Error("the decompressor yielded a non-binary chunk");
      size += piece.length;
      if (size > maxBytes) throw new ConnectError(`message is larger than ${maxBytes} bytes`, Code.ResourceExhausted);
      if (size > reserved) {
        reserved = nextReservation(size, maxBytes);
        await call?.reserve(reserved);
      }
      pieces.push(piece);
    }
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument);
  }
  call?.end(size);
  const message = Buffer.concat(pieces);
  return call ? call.read(message) : message;
}
