import { isUuid, type Uuid } from "../../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import { POSTGRES_EPOCH_MS } from "./message-writer.js";

/** The wire format of a column, and the types that are read so. No types: any type, as text. */
export interface ColumnKind {
  readonly format: 0 | 1;
  readonly types: readonly number[];
}

const TEXT: ColumnKind = { format: 0, types: [] };
const BYTES: ColumnKind = { format: 1, types: [17] };
const BOOLEAN: ColumnKind = { format: 1, types: [16] };
/** smallint, integer, bigint. */
const INTEGER: ColumnKind = { format: 1, types: [20, 21, 23] };
/** timestamp with time zone. */
const TIME: ColumnKind = { format: 1, types: [1184] };
/** text[]. */
const TEXTS: ColumnKind = { format: 1, types: [1009] };

/** Reads the columns of a row from left to right, each once. */
export interface Columns {
  text(): string;
  textOrNull(): string | null;
  uuid(): Uuid;
  uuidOrNull(): Uuid | null;
  bytes(): Buffer;
  bytesOrNull(): Buffer | null;
  boolean(): boolean;
  integer(): number;
  time(): Date;
  timeOrNull(): Date | null;
  texts(): string[];
  /** jsonb or json. */
  jsonObject(): JsonObject;
  jsonObjects(): JsonObject[];
}

/** Makes a row from its columns. It reads the same columns in the same order every time. */
export type ReadRow<Row> = (columns: Columns) => Row;

/** The columns that a function reads, found by running it on an empty row. */
export function findColumnKinds(read: ReadRow<unknown>): readonly ColumnKind[] {
  const kinds: ColumnKind[] = [];
  const note = <T>(kind: ColumnKind, value: T) => {
    kinds.push(kind);
    return value;
  };
  read({
    text: () => note(TEXT, ""),
    textOrNull: () => note(TEXT, null),
    uuid: () => note(TEXT, NO_UUID),
    uuidOrNull: () => note(TEXT, null),
    bytes: () => note(BYTES, Buffer.alloc(0)),
    bytesOrNull: () => note(BYTES, null),
    boolean: () => note(BOOLEAN, false),
    integer: () => note(INTEGER, 0),
    time: () => note(TIME, new Date(0)),
    timeOrNull: () => note(TIME, null),
    texts: () => note(TEXTS, []),
    jsonObject: () => note(TEXT, {}),
    jsonObjects: () => note(TEXT, []),
  });
  return kinds;
}

const NO_UUID = asUuid("00000000-0000-0000-0000-000000000000");
const TWO_32 = 2 ** 32;
/** The high half of a number of microseconds that a double may not hold exactly. */
const INEXACT_HIGH = 2 ** 21;

export class RowReader implements Columns {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /** Moves to a row, whose columns begin at `start`. */
  moveTo(bytes: Buffer, start: number): void {
    this.#bytes = bytes;
    this.#at = start;
  }

  text(): string {
    return this.textOrNull() ?? neverNull();
  }

  textOrNull(): string | null {
    const size = this.#size();
    return size < 0 ? null : this.#text(size);
  }

  uuid(): Uuid {
    return asUuid(this.text());
  }

  uuidOrNull(): Uuid | null {
    const text = this.textOrNull();
    return text === null ? null : asUuid(text);
  }

  bytes(): Buffer {
    return this.bytesOrNull() ?? neverNull();
  }

  /** A copy, because the network buffer is reused. */
  bytesOrNull(): Buffer | null {
    const size = this.#size();
    if (size < 0) return null;
    const copy = Buffer.allocUnsafe(size);
    const copied = this.#bytes.copy(copy, 0, this.#at, this.#at + size);
    // What is not copied over is memory of other requests.
    if (copied < size) throw new Error("a row ends within a column");
    this.#at += size;
    return copy;
  }

  boolean(): boolean {
    if (this.#size() !== 1) neverNull();
    this.#at += 1;
    return this.#bytes[this.#at - 1] === 1;
  }

  integer(): number {
    const size = this.#size();
    const from = this.#at;
    this.#at += size;
    switch (size) {
      case 2:
        return this.#bytes.readInt16BE(from);
      case 4:
        return this.#bytes.readInt32BE(from);
      case 8: {
        const value = this.#bytes.readInt32BE(from) * TWO_32 + this.#bytes.readUInt32BE(from + 4);
        if (!Number.isSafeInteger(value)) throw new Error("a bigint column holds more than 2^53");
        return value;
      }
      default:
        return neverNull();
    }
  }

  time(): Date {
    return this.timeOrNull() ?? neverNull();
  }

  timeOrNull(): Date | null {
    const size = this.#size();
    if (size < 0) return null;
    const from = this.#at;
    this.#at += 8;
    const high = this.#bytes.readInt32BE(from);
    if (high >= INEXACT_HIGH || high <= -INEXACT_HIGH) {
      return new Date(Number(this.#bytes.readBigInt64BE(from) / 1_000n) + POSTGRES_EPOCH_MS);
    }
    const microseconds = high * TWO_32 + this.#bytes.readUInt32BE(from + 4);
    return new Date(Math.floor(microseconds / 1_000) + POSTGRES_EPOCH_MS);
  }

  texts(): string[] {
    if (this.#size() < 0) neverNull();
    const dimensions = this.#bytes.readInt32BE(this.#at);
    // The number of dimensions, the null flag, the item type.
    this.#at += 12;
    if (dimensions === 0) return [];
    if (dimensions > 1) throw new Error("an array column has more than one dimension");
    const count = this.#bytes.readInt32BE(this.#at);
    // The length, and the number of the first item.
    this.#at += 8;
    return Array.from({ length: count }, () => this.text());
  }

  jsonObject(): JsonObject {
    return asObject(JSON.parse(this.text()));
  }

  jsonObjects(): JsonObject[] {
    const value: Json = JSON.parse(this.text());
    if (!Array.isArray(value)) throw new Error("a column holds no list");
    return value.map(asObject);
  }

  #size(): number {
    const size = this.#bytes.readInt32BE(this.#at);
    this.#at += 4;
    return size;
  }

  #text(size: number): string {
    const from = this.#at;
    this.#at += size;
    return this.#bytes.toString("utf8", from, this.#at);
  }
}

function asUuid(text: string): Uuid {
  if (!isUuid(text)) throw new Error("a uuid column holds something else");
  return text;
}

function asObject(value: Json): JsonObject {
  if (!isJsonObject(value)) throw new Error("a column holds no object");
  return value;
}

function neverNull(): never {
  throw new Error("NULL in a column declared not null");
}
