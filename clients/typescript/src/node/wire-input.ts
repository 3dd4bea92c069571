/** A position in a message of protobuf's binary form. All methods throw for bytes that end too early. */
export class WireInput {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The low 32 bits, unsigned, of a number of up to 64. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new Error("a number has more than ten bytes");
  }

  /** A number of up to 53 bits, such as the seconds of a time. */
  safeInteger(): number {
    const start = this.at;
    let value = 0;
    for (let scale = 1; scale < 2 ** 49; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    // A negative number has ten bytes.
    this.at = start;
    return Number(this.int64());
  }

  int64(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new Error("a number has more than ten bytes");
  }

  double(): number {
    this.at += 8;
    return this.#bytes.readDoubleLE(this.at - 8);
  }

  /** Reads a length. @returns where what follows ends. */
  end(): number {
    const end = this.varint() + this.at;
    if (end > this.#bytes.length) throw new Error("a message is shorter than it says");
    return end;
  }

  text(): string {
    const end = this.end();
    const text = this.#bytes.toString("utf8", this.at, end);
    this.at = end;
    return text;
  }

  base64(): string {
    const end = this.end();
    const text = this.#bytes.toString("base64", this.at, end);
    this.at = end;
    return text;
  }

  /** Leaves out the value of a field. */
  skip(wireType: number): void {
    if (wireType === VARINT) this.varint();
    else if (wireType === FIXED64) this.at += 8;
    else if (wireType === LENGTH) this.at = this.end();
    else if (wireType === FIXED32) this.at += 4;
    else throw new Error("a field has a type that is not in use");
    if (this.at > this.#bytes.length) throw new Error("a message is shorter than it says");
  }

  #byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new Error("a message is shorter than it says");
    this.at += 1;
    return byte;
  }
}

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
const FIXED32 = 5;
