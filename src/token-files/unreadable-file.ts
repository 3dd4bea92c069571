/** A file of tokens, or a mapping, that cannot be read at all. The message says what is expected. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
}
