import { isAscii } from "node:buffer";
import { WireType } from "@bufbuild/protobuf/wire";
import { NullValue, type Value } from "@bufbuild/protobuf/wkt";
import { setOwnProperty } from "../../base/json.js";
import { WireCursor } from "./wire-cursor.js";

const tag = (field: number, wireType: WireType) => (field << 3) | wireType;

const NULL = tag(1, WireType.Varint);
const NUMBER = tag(2, WireType.Bit64);
const STRING = tag(3, WireType.LengthDelimited);
const BOOL = tag(4, WireType.Varint);
const STRUCT = tag(5, WireType.LengthDelimited);
const LIST = tag(6, WireType.LengthDelimited);
/** The entries of a Struct, the values of a ListValue, and the key of an entry. */
const FIRST = tag(1, WireType.LengthDelimited);
/** The value of an entry. */
const SECOND = tag(2, WireType.LengthDelimited);

/** A shorter text is cheaper to look at than to hand to a native function. */
const SHORT_TEXT_BYTES = 24;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A message has another form than encoders write. The library reads it. */
export class NonCanonicalEncoding extends Error {}

/**
 * Reads a `google.protobuf.Value` in the form that encoders write: one kind in each value, and key and value in each entry.
 * Three times as fast as the library, which took 40 ms for 50,000 values.
 * @throws {NonCanonicalEncoding} for any other message, valid or not.
 */
export function readValue(bytes: Uint8Array, start: number, end: number): Value {
  try {
    return new ValueReader(bytes, start).value(end);
  } catch (error) {
    // A text that is not UTF-8, or a field that does not end.
    throw error instanceof TypeError || error instanceof RangeError ? new NonCanonicalEncoding() : error;
  }
}

class ValueReader extends WireCursor {
  /** @param end offset behind the value. Its structure has been bounded before. */
  value(end: number): Value {
    const kind = this.#kind();
    if (this.at !== end) throw new NonCanonicalEncoding();
    return { $typeName: "google.protobuf.Value", kind };
  }

  #kind(): Value["kind"] {
    switch (this.uint32()) {
      case NULL:
        if (this.uint32() !== 0) throw new NonCanonicalEncoding();
        return { case: "nullValue", value: NullValue.NULL_VALUE };
      case NUMBER:
        this.at += 8;
        return { case: "numberValue", value: this.bytes.readDoubleLE(this.at - 8) };
      case STRING:
        return { case: "stringValue", value: this.#text() };
      case BOOL:
        return { case: "boolValue", value: this.#flag() };
      case STRUCT:
        return { case: "structValue", value: { $typeName: "google.protobuf.Struct", fields: this.#fields() } };
      case LIST:
        return { case: "listValue", value: { $typeName: "google.protobuf.ListValue", values: this.#values() } };
      default:
        throw new NonCanonicalEncoding();
    }
  }

  #flag(): boolean {
    const flag = this.uint32();
    if (flag > 1) throw new NonCanonicalEncoding();
    return flag === 1;
  }

  #fields(): Record<string, Value> {
    const fields: Record<string, Value> = {};
    for (const end = this.#end(); this.at < end; ) {
      this.#expect(FIRST);
      const entryEnd = this.#end();
      this.#expect(FIRST);
      const key = this.#text();
      this.#expect(SECOND);
      const valueEnd = this.#end();
      if (valueEnd !== entryEnd) throw new NonCanonicalEncoding();
      setOwnProperty(fields, key, this.value(valueEnd));
    }
    return fields;
  }

  #values(): Value[] {
    const values: Value[] = [];
    for (const end = this.#end(); this.at < end; ) {
      this.#expect(FIRST);
      values.push(this.value(this.#end()));
    }
    return values;
  }

  #expect(expected: number): void {
    if (this.uint32() !== expected) throw new NonCanonicalEncoding();
  }

  #end(): number {
    const length = this.uint32();
    return this.at + length;
  }

  #text(): string {
    const end = this.#end();
    const from = this.at;
    if (end > this.bytes.length) throw new NonCanonicalEncoding();
    this.at = end;
    if (end === from) return "";
    if (this.#isAscii(from, end)) return this.bytes.toString("latin1", from, end);
    return utf8.decode(this.bytes.subarray(from, end));
  }

  #isAscii(from: number, end: number): boolean {
    if (end - from > SHORT_TEXT_BYTES) return isAscii(this.bytes.subarray(from, end));
    for (let at = from; at < end; at += 1) if ((this.bytes[at] ?? 0) > 0x7f) return false;
    return true;
  }
}
