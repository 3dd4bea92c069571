import { AsyncLocalStorage } from "node:async_hooks";
import { type BrotliDecompress, createBrotliDecompress, createGunzip, type Gunzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";

/** Makes room for so many bytes of a message. @throws {ConnectError} where there is none. */
export type TakeRoom = (bytes: number) => void;

const room = new AsyncLocalStorage<TakeRoom>();

/** Serves a call whose messages take room by what they inflate to, not only by what comes: that may be a thousandth. */
export function inflatingInto<T>(take: TakeRoom, serve: () => Promise<T>): Promise<T> {
  return room.run(take, serve);
}

/** A message of 5 MB comes in 80 pieces, each of which takes a turn of the threads that inflate. */
const PIECES = { chunkSize: 64 * 1024 };

/** What callers may compress messages with. Connect knows of no request here: whose room it is stands in the context. */
export const COMPRESSIONS: readonly Compression[] = [
  { ...compressionGzip, decompress: (bytes, mostBytes) => inflate(createGunzip(PIECES), bytes, mostBytes) },
  { ...compressionBrotli, decompress: (bytes, mostBytes) => inflate(createBrotliDecompress(PIECES), bytes, mostBytes) },
];

/** Piece by piece, so that a message which is too large, or for which there is no room, is never held as a whole. */
async function inflate(
  inflater: Gunzip | BrotliDecompress,
  bytes: Uint8Array,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes.length === 0) return new Uint8Array(0);
  const take = room.getStore();
  const pieces: Uint8Array[] = [];
  let size = 0;
  inflater.end(bytes);
  try {
    for await (const piece of inflater) {
      if (!(piece instanceof Uint8Array)) throw new Error("inflated bytes are none");
      size += piece.length;
      if (size > mostBytes) throw new ConnectError(`message is larger than ${mostBytes} bytes`, Code.ResourceExhausted);
      take?.(piece.length);
      pieces.push(piece);
    }
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument);
  }
  return Buffer.concat(pieces);
}
