/** Most steps fit. A larger step gets a larger buffer, which is released after it was sent. */
const INITIAL_BYTES = 16 * 1_024;
const KEPT_BYTES = 256 * 1_024;
/** A value of this size is sent from where it is: copying two values of 5 MB held the event loop for 20 ms. */
const LARGE_VALUE_BYTES = 64 * 1_024;

/** Milliseconds from 1970 to 2000, PostgreSQL's epoch. */
export const POSTGRES_EPOCH_MS = 946_684_800_000;
/** Milliseconds before or after 2000 whose microseconds a double holds exactly. */
const EXACT_MS = Math.floor(Number.MAX_SAFE_INTEGER / 1_000);
const TWO_32 = 2 ** 32;

/**
 * Successive messages of PostgreSQL's protocol, version 3, in one buffer that each step reuses, with large values beside
 * it. {@link reset} takes back what failed halfway.
 */
export class MessageWriter {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;
  /** Large values, each with its position in the buffer. More bytes of its message always follow. */
  #values: { readonly at: number; readonly bytes: Uint8Array }[] = [];

  /** The position in the buffer, for {@link reset}. */
  get length(): number {
    return this.#length;
  }

  /** The bytes that were written from a position on, with large values. */
  sizeFrom(position: number): number {
    const values = this.#values.filter(({ at }) => at >= position);
    return values.reduce((size, { bytes }) => size + bytes.length, this.#length - position);
  }

  /** What was written, in order. Valid until the next {@link clear}. */
  get chunks(): readonly Uint8Array[] {
    if (this.#values.length === 0) return [this.#bytes.subarray(0, this.#length)];
    let from = 0;
    const chunks = this.#values.flatMap(({ at, bytes }) => {
      const before = this.#bytes.subarray(from, at);
      from = at;
      return [before, bytes];
    });
    return [...chunks, this.#bytes.subarray(from, this.#length)];
  }

  reset(length: number): void {
    this.#length = length;
    this.#values = this.#values.filter(({ at }) => at <= length);
  }

  /** Starts over. The database must have answered what was written, because the bytes are overwritten. */
  clear(): void {
    this.#length = 0;
    if (this.#values.length > 0) this.#values = [];
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  int16(value: number): void {
    this.#reserve(2);
    this.#length = this.#bytes.writeUInt16BE(value, this.#length);
  }

  int32(value: number): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeInt32BE(value, this.#length);
  }

  /** Text that ends with a zero byte. */
  cString(text: string): void {
    this.#reserve(3 * text.length + 1);
    this.#length += this.#bytes.write(text, this.#length);
    this.#bytes[this.#length] = 0;
    this.#length += 1;
  }

  /** @returns the position of its length, for {@link endMessage}. */
  beginMessage(type: number): number {
    this.#reserve(5);
    this.#bytes[this.#length] = type;
    const at = this.#length + 1;
    this.#length += 5;
    return at;
  }

  endMessage(at: number): void {
    let length = this.#length - at;
    for (const value of this.#values) if (value.at > at) length += value.bytes.length;
    this.#bytes.writeInt32BE(length, at);
  }

  nullValue(): void {
    this.int32(-1);
  }

  textValue(text: string): void {
    this.#reserve(4 + 3 * text.length);
    const size = this.#bytes.write(text, this.#length + 4);
    this.#bytes.writeInt32BE(size, this.#length);
    this.#length += 4 + size;
  }

  /** A large value must not change until the next {@link clear}. */
  bytesValue(bytes: Uint8Array): void {
    this.int32(bytes.length);
    if (bytes.length < LARGE_VALUE_BYTES) this.raw(bytes);
    else this.#values.push({ at: this.#length, bytes });
  }

  int32Value(value: number): void {
    this.int32(4);
    this.int32(value);
  }

  int64Value(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError("a bigint parameter is no safe integer");
    this.int32(8);
    this.#int64(value);
  }

  /** @throws {RangeError} for an invalid time. */
  timeValue(time: Date): void {
    const ms = time.getTime() - POSTGRES_EPOCH_MS;
    if (Number.isNaN(ms)) throw new RangeError("a time parameter is no time");
    this.int32(8);
    if (Math.abs(ms) <= EXACT_MS) {
      this.#int64(ms * 1_000);
    } else {
      this.#reserve(8);
      this.#length = this.#bytes.writeBigInt64BE(BigInt(ms) * 1_000n, this.#length);
    }
  }

  booleanValue(value: boolean): void {
    this.int32(1);
    this.byte(value ? 1 : 0);
  }

  /** An array of one dimension in the binary format. */
  textsValue(items: readonly string[], itemType: number): void {
    const at = this.#length;
    this.int32(0);
    this.int32(items.length === 0 ? 0 : 1);
    // The null flag: no nulls.
    this.int32(0);
    this.int32(itemType);
    if (items.length > 0) {
      this.int32(items.length);
      // The number of the first item.
      this.int32(1);
    }
    for (const item of items) this.textValue(item);
    this.#bytes.writeInt32BE(this.#length - at - 4, at);
  }

  #int64(value: number): void {
    this.#reserve(8);
    const high = Math.floor(value / TWO_32);
    this.#bytes.writeInt32BE(high, this.#length);
    this.#length = this.#bytes.writeUInt32BE(value - high * TWO_32, this.#length + 4);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
