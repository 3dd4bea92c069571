// google.protobuf.Value and Struct, which hold plain JSON.
import type { Encoded, EncodedObject } from "../encode.js";
import { FIXED64, LENGTH, VARINT, WireInput } from "./wire-input.js";
import type { WireOutput } from "./wire-output.js";

/** Tags of the fields of Value, and of the fields of an entry in a map. */
const NULL = (1 << 3) | VARINT;
const NUMBER = (2 << 3) | FIXED64;
const TEXT = (3 << 3) | LENGTH;
const FLAG = (4 << 3) | VARINT;
const STRUCT = (5 << 3) | LENGTH;
const LIST = (6 << 3) | LENGTH;
const FIRST = (1 << 3) | LENGTH;
const SECOND = (2 << 3) | LENGTH;
const OWN = { enumerable: true, writable: true, configurable: true };

/** Reads a Value with its length, as all of these do. */
export function readValue(input: WireInput): unknown {
  const end = input.end();
  let value: unknown = null;
  while (input.at < end) {
    const tag = input.varint();
    if (tag === TEXT) value = input.text();
    else if (tag === NUMBER) value = input.double();
    else if (tag === STRUCT) value = readStruct(input);
    else if (tag === FLAG) value = input.varint() !== 0;
    else if (tag === LIST) value = readList(input);
    else input.skip(tag & 7);
  }
  return value;
}

export function readStruct(input: WireInput): Record<string, unknown> {
  const end = input.end();
  const struct: Record<string, unknown> = {};
  while (input.at < end) {
    const tag = input.varint();
    if (tag === FIRST) readEntry(input, struct, SECOND, readValue);
    else input.skip(tag & 7);
  }
  return struct;
}

/** Reads one entry of a map into it. @param tag of the value in the entry. */
export function readEntry(
  input: WireInput,
  map: Record<string, unknown>,
  tag: number,
  read: (input: WireInput) => unknown,
): void {
  const end = input.end();
  let key = "";
  let value: unknown;
  while (input.at < end) {
    const found = input.varint();
    if (found === FIRST) key = input.text();
    else if (found === tag) value = read(input);
    else input.skip(found & 7);
  }
  // Encoders may leave out a default, which is what zeros are read as.
  if (value === undefined) value = read(new WireInput(new Uint8Array(8)));
  // An assignment would set the prototype.
  if (key === "__proto__") Object.defineProperty(map, key, { ...OWN, value });
  else map[key] = value;
}

function readList(input: WireInput): unknown[] {
  const end = input.end();
  const list: unknown[] = [];
  while (input.at < end) {
    const tag = input.varint();
    if (tag === FIRST) list.push(readValue(input));
    else input.skip(tag & 7);
  }
  return list;
}

/** Writes a Value with its length, as all of these do. */
export function writeValue(output: WireOutput, value: Encoded): void {
  const start = output.begin();
  if (typeof value === "string") {
    output.byte(TEXT);
    output.text(value);
  } else if (typeof value === "number") {
    output.byte(NUMBER);
    output.double(value);
  } else if (typeof value === "boolean") {
    output.byte(FLAG);
    output.byte(value ? 1 : 0);
  } else if (value === null) {
    output.byte(NULL);
    output.byte(0);
  } else if (Array.isArray(value)) {
    output.byte(LIST);
    writeList(output, value);
  } else {
    output.byte(STRUCT);
    writeStruct(output, value);
  }
  output.end(start);
}

export function writeStruct(output: WireOutput, struct: EncodedObject): void {
  const start = output.begin();
  for (const key of Object.keys(struct)) {
    output.byte(FIRST);
    const entry = output.begin();
    output.byte(FIRST);
    output.text(key);
    output.byte(SECOND);
    writeValue(output, struct[key] ?? null);
    output.end(entry);
  }
  output.end(start);
}

function writeList(output: WireOutput, list: readonly Encoded[]): void {
  const start = output.begin();
  for (const item of list) {
    output.byte(FIRST);
    writeValue(output, item);
  }
  output.end(start);
}
