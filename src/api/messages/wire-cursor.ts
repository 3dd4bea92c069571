import { WireType } from "@bufbuild/protobuf/wire";

const LAST_BYTE_LIMIT = 0x80;
const MAX_VARINT_BYTES = 10;
const MAX_FIELD_BYTES = 5;

/**
 * Reads protobuf's wire format in place, without an object for each tag: three times as fast as the library's reader,
 * for bodies with tens of thousands of fields.
 */
export class WireCursor {
  readonly bytes: Buffer;
  at: number;

  /** @param at offset of the first byte to read. */
  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = at;
  }

  /** A tag or a length. @throws {RangeError} for one of more than 32 bits, or that does not end. */
  uint32(): number {
    const first = this.#byte();
    if (first < LAST_BYTE_LIMIT) return first;
    let value = first - LAST_BYTE_LIMIT;
    for (let index = 1; index < MAX_FIELD_BYTES; index += 1) {
      const byte = this.#byte();
      value += (byte % LAST_BYTE_LIMIT) * LAST_BYTE_LIMIT ** index;
      if (byte >= LAST_BYTE_LIMIT) continue;
      if (value >= 2 ** 32) break;
      return value;
    }
    throw new RangeError("a number of a message has more than 32 bits");
  }

  /** Moves behind the value of a field. @throws {RangeError} for a group, or a value that is not complete. */
  skip(wireType: number): void {
    switch (wireType) {
      case WireType.Varint:
        this.#skipNumber();
        break;
      case WireType.Bit64:
        this.#move(8);
        break;
      case WireType.LengthDelimited:
        this.#move(this.uint32());
        break;
      case WireType.Bit32:
        this.#move(4);
        break;
      default:
        throw new RangeError("a message has a group or a field of an unknown form");
    }
  }

  #skipNumber(): void {
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) if (this.#byte() < LAST_BYTE_LIMIT) return;
    throw new RangeError("a number of a message does not end");
  }

  #byte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new RangeError("a message ends within a field");
    this.at += 1;
    return byte;
  }

  #move(length: number): void {
    this.at += length;
    if (this.at > this.bytes.length) throw new RangeError("a message ends within a field");
  }
}

/** The number of the field that a tag begins. @throws {RangeError} for zero. */
export function fieldNumber(tag: number): number {
  if (tag < 8) throw new RangeError("a message has a field without a number");
  return tag >>> 3;
}

export function tagWireType(tag: number): number {
  return tag & 7;
}
