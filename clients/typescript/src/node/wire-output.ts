const FIRST_BYTES = 512;
/** Texts up to this length are copied by a loop, which takes less time than the call of native code. */
const SHORT_TEXT = 24;

/** Bytes of a message in protobuf's binary form, in a buffer that grows. */
export class WireOutput {
  #bytes: Buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #at: number;

  /** @param headBytes left free before the message. */
  constructor(headBytes: number) {
    this.#at = headBytes;
  }

  /** The head and the message. Nothing may be written after it. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  /** @param value from 0 to 2^32 - 1. */
  varint(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.byte((rest & 0x7f) | 0x80);
    this.byte(rest);
  }

  int64(value: bigint): void {
    let rest = BigInt.asUintN(64, value);
    for (; rest > 0x7fn; rest >>= 7n) this.byte(Number(rest & 0x7fn) | 0x80);
    this.byte(Number(rest));
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  text(value: string): void {
    if (this.#shortText(value)) return;
    const bytes = Buffer.byteLength(value);
    this.varint(bytes);
    this.#reserve(bytes);
    this.#at += this.#bytes.write(value, this.#at);
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  /** Leaves room for the length of what follows, up to {@link end}. @returns what `end` takes. */
  begin(): number {
    this.byte(0);
    return this.#at;
  }

  /** Writes the length of what was written since {@link begin}. */
  end(start: number): void {
    const end = this.#at;
    const length = end - start;
    if (length > 0x7f) {
      // The length takes more than the one byte that was left free.
      this.varint(length);
      const headBytes = this.#at - end;
      this.#bytes.copyWithin(start - 1 + headBytes, start, end);
    }
    this.#at = start - 1;
    this.varint(length);
    this.#at += length;
  }

  /** False, with nothing written, for a text that is long or not ASCII. */
  #shortText(value: string): boolean {
    const { length } = value;
    if (length > SHORT_TEXT) return false;
    this.#reserve(length + 1);
    const start = this.#at + 1;
    for (let index = 0; index < length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) return false;
      this.#bytes[start + index] = code;
    }
    this.#bytes[this.#at] = length;
    this.#at = start + length;
    return true;
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
