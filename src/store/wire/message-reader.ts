/** A type byte and four bytes of length. The length counts itself. */
const HEADER_BYTES = 5;
/** PostgreSQL sends no larger message. */
const MAX_BYTES = 2 ** 30;

/**
 * Takes one message: its type, and its payload from `start` to `end` of `bytes`, which is valid only during the call.
 */
export type TakeMessage = (type: number, bytes: Buffer, start: number, end: number) => void;

/** Splits the bytes from a database into messages, however the network has split them. */
export class MessageReader {
  readonly #take: TakeMessage;
  /** The start of a message, in a buffer of the message's size once that is known. Copies each byte once. */
  #partial = Buffer.allocUnsafeSlow(HEADER_BYTES);
  #filled = 0;

  constructor(take: TakeMessage) {
    this.#take = take;
  }

  /** @throws {Error} if the bytes do not follow PostgreSQL's protocol. */
  read(chunk: Buffer): void {
    let at = this.#filled > 0 ? this.#resume(chunk) : 0;
    while (chunk.length - at >= HEADER_BYTES) {
      const size = sizeAt(chunk, at);
      if (chunk.length - at < size) break;
      this.#take(chunk[at] ?? 0, chunk, at + HEADER_BYTES, at + size);
      at += size;
    }
    if (at < chunk.length) this.#keep(chunk, at);
  }

  /**
   * Continues an incomplete message.
   * @returns how many bytes of the chunk belong to it.
   */
  #resume(chunk: Buffer): number {
    let at = 0;
    if (this.#filled < HEADER_BYTES) {
      at = this.#fill(chunk, 0, HEADER_BYTES);
      if (this.#filled < HEADER_BYTES) return at;
      this.#grow();
    }
    at += this.#fill(chunk, at, this.#partial.length);
    if (this.#filled < this.#partial.length) return at;
    const message = this.#partial;
    this.#partial = Buffer.allocUnsafeSlow(HEADER_BYTES);
    this.#filled = 0;
    this.#take(message[0] ?? 0, message, HEADER_BYTES, message.length);
    return at;
  }

  #keep(chunk: Buffer, at: number): void {
    const copied = this.#fill(chunk, at, HEADER_BYTES);
    if (this.#filled < HEADER_BYTES) return;
    this.#grow();
    this.#fill(chunk, at + copied, this.#partial.length);
  }

  #fill(chunk: Buffer, at: number, upTo: number): number {
    const copied = chunk.copy(this.#partial, this.#filled, at, at + upTo - this.#filled);
    this.#filled += copied;
    return copied;
  }

  #grow(): void {
    const whole = Buffer.allocUnsafeSlow(sizeAt(this.#partial, 0));
    this.#partial.copy(whole, 0, 0, HEADER_BYTES);
    this.#partial = whole;
  }
}

function sizeAt(bytes: Buffer, at: number): number {
  const length = bytes.readUInt32BE(at + 1);
  if (length < 4 || length > MAX_BYTES) throw new Error("the database sent a message of an impossible length");
  return 1 + length;
}
