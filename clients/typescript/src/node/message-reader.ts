import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { isFields } from "../shape.js";
import { readEntry, readStruct, readValue } from "./json-values.js";
import { LENGTH, VARINT, WireInput } from "./wire-input.js";

type Fields = Record<string, unknown>;

/** Reads the value of a field, with its length where it has one. */
interface ValueReader {
  readonly wireType: number;
  readonly read: (input: WireInput) => unknown;
}

interface FieldReader {
  readonly wireType: number;
  readonly readInto: (message: Fields, input: WireInput) => void;
}

/** Fields of a message by their number. */
type FieldReaders = ReadonlyMap<number, FieldReader>;

const compiled = new WeakMap<DescMessage, FieldReaders>();

/**
 * Reads a message straight to its JSON form, with times as Dates. Message objects between the two would take several times
 * as long. Fields that the schema does not have are left out.
 * @throws {Error} for bytes that do not hold such a message.
 */
export function readMessage(schema: DescMessage, bytes: Uint8Array): Fields {
  return readFields(fieldsOf(schema), new WireInput(bytes), bytes.length);
}

function readFields(fields: FieldReaders, input: WireInput, end: number): Fields {
  const message: Fields = {};
  while (input.at < end) {
    const tag = input.varint();
    const field = fields.get(tag >>> 3);
    if (field?.wireType === (tag & 7)) field.readInto(message, input);
    else input.skip(tag & 7);
  }
  if (input.at !== end) throw new Error("a field is longer than its message");
  return message;
}

function fieldsOf(schema: DescMessage): FieldReaders {
  const known = compiled.get(schema);
  if (known) return known;
  const fields = new Map<number, FieldReader>();
  // A message may contain itself.
  compiled.set(schema, fields);
  for (const field of schema.fields) {
    const reader = fieldReader(field);
    if (reader) fields.set(field.number, reader);
  }
  return fields;
}

/** Undefined for a kind of field that no response has. */
function fieldReader(field: DescField): FieldReader | undefined {
  const { jsonName } = field;
  const value = valueReader(field);
  if (!value) return undefined;
  const { wireType, read } = value;
  switch (field.fieldKind) {
    case "list":
      // Numbers and flags would be packed.
      if (wireType !== LENGTH) return undefined;
      return {
        wireType,
        readInto(message, input) {
          const list = message[jsonName];
          if (Array.isArray(list)) list.push(read(input));
          else message[jsonName] = [read(input)];
        },
      };
    case "map":
      return {
        wireType: LENGTH,
        readInto(message, input) {
          const known = message[jsonName];
          const map = isFields(known) ? known : {};
          message[jsonName] = map;
          readEntry(input, map, (2 << 3) | wireType, read);
        },
      };
    default:
      return {
        wireType,
        readInto(message, input) {
          message[jsonName] = read(input);
        },
      };
  }
}

function valueReader({ message, scalar }: DescField): ValueReader | undefined {
  if (message) return { wireType: LENGTH, read: messageReader(message) };
  return scalar === undefined ? undefined : SCALARS.get(scalar);
}

const SCALARS: ReadonlyMap<ScalarType, ValueReader> = new Map([
  [ScalarType.STRING, { wireType: LENGTH, read: (input: WireInput) => input.text() }],
  [ScalarType.BYTES, { wireType: LENGTH, read: (input: WireInput) => input.base64() }],
  [ScalarType.BOOL, { wireType: VARINT, read: (input: WireInput) => input.varint() !== 0 }],
  [ScalarType.INT32, { wireType: VARINT, read: (input: WireInput) => input.varint() | 0 }],
  [ScalarType.INT64, { wireType: VARINT, read: (input: WireInput) => String(input.int64()) }],
]);

function messageReader(schema: DescMessage): (input: WireInput) => unknown {
  switch (schema.typeName) {
    case "google.protobuf.Value":
      return readValue;
    case "google.protobuf.Struct":
      return readStruct;
    case "google.protobuf.Timestamp":
      return readTime;
    default: {
      const fields = fieldsOf(schema);
      return (input) => readFields(fields, input, input.end());
    }
  }
}

function readTime(input: WireInput): Date {
  const end = input.end();
  let seconds = 0;
  let nanos = 0;
  while (input.at < end) {
    const tag = input.varint();
    if (tag === SECONDS) seconds = input.safeInteger();
    else if (tag === NANOS) nanos = input.varint();
    else input.skip(tag & 7);
  }
  return new Date(seconds * 1_000 + Math.floor(nanos / 1e6));
}

const SECONDS = 1 << 3;
const NANOS = 2 << 3;
