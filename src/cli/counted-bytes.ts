/** Passes pieces on, and reports the bytes so far. */
export async function* countedBytes(
  pieces: AsyncIterable<Uint8Array>,
  onProgress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    onProgress(bytes);
    yield piece;
  }
}
