import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Encoded, EncodedObject } from "../encode.js";
import { invalidInput } from "../errors.js";
import { writeStruct, writeValue } from "./json-values.js";
import { LENGTH, VARINT } from "./wire-input.js";
import { WireOutput } from "./wire-output.js";

/** Writes the value of a field, with its length where it has one. @throws {Unfit} */
type Write = (output: WireOutput, value: Encoded) => void;

interface FieldWriter {
  readonly field: DescField;
  /** With its tag. */
  readonly write: Write;
}

/** Fields of a message by their names. */
type FieldWriters = ReadonlyMap<string, FieldWriter>;

const compiled = new WeakMap<DescMessage, FieldWriters>();

/**
 * Writes a message from its JSON form, behind `headBytes` that are left free. Message objects between the two would take
 * several times as long.
 * @throws {AttemptError} with the path of a field that has a value of another type, or that the schema does not have.
 */
export function writeMessage(schema: DescMessage, json: EncodedObject, headBytes: number): Buffer {
  const output = new WireOutput(headBytes);
  try {
    writeFields(output, fieldsOf(schema), json);
  } catch (error) {
    throw error instanceof Unfit ? invalidInput(error.path, error.message) : error;
  }
  return output.finish();
}

function writeFields(output: WireOutput, fields: FieldWriters, json: EncodedObject): void {
  let choices: Set<unknown> | undefined;
  for (const name of Object.keys(json)) {
    const value = json[name] ?? null;
    const writer = fields.get(name);
    if (!writer) throw new Unfit("is not a field of this call", name);
    const { field, write } = writer;
    if (value === null && field.message?.typeName !== VALUE) continue;
    if (field.oneof) {
      choices ??= new Set();
      if (choices.has(field.oneof)) throw new Unfit("cannot be set beside another field that excludes it", name);
      choices.add(field.oneof);
    }
    try {
      write(output, value);
    } catch (error) {
      throw error instanceof Unfit ? error.within(name) : error;
    }
  }
}

/** A value that a message cannot hold, and its path from where it was found. */
class Unfit extends Error {
  readonly path: string;

  constructor(words = "has a value of another type than its field", path = "") {
    super(words);
    this.path = path;
  }

  /** The same, from the outside of a field or an item. */
  within(place: string): Unfit {
    const separator = this.path === "" || this.path.startsWith("[") ? "" : ".";
    return new Unfit(this.message, `${place}${separator}${this.path}`);
  }
}

function fieldsOf(schema: DescMessage): FieldWriters {
  const known = compiled.get(schema);
  if (known) return known;
  const fields = new Map<string, FieldWriter>();
  // A message may contain itself.
  compiled.set(schema, fields);
  for (const field of schema.fields) {
    const write = fieldWriter(field);
    if (!write) continue;
    fields.set(field.jsonName, { field, write });
    fields.set(field.name, { field, write });
  }
  return fields;
}

/** Undefined for a kind of field that no request has. */
function fieldWriter(field: DescField): Write | undefined {
  const value = valueWriter(field);
  if (!value) return undefined;
  const [wireType, write] = value;
  const tag = (field.number << 3) | (field.fieldKind === "map" ? LENGTH : wireType);
  const one: Write = (output, item) => {
    output.varint(tag);
    write(output, item);
  };
  if (field.fieldKind === "list") {
    return (output, list) => {
      if (!Array.isArray(list)) throw new Unfit();
      for (const [index, item] of list.entries()) {
        try {
          one(output, item);
        } catch (error) {
          throw error instanceof Unfit ? error.within(`[${index}]`) : error;
        }
      }
    };
  }
  if (field.fieldKind !== "map") return one;
  return (output, map) => {
    const entries = objectOf(map);
    for (const key of Object.keys(entries)) {
      output.varint(tag);
      const start = output.begin();
      output.byte((1 << 3) | LENGTH);
      output.text(key);
      output.byte((2 << 3) | wireType);
      write(output, entries[key] ?? null);
      output.end(start);
    }
  };
}

function valueWriter({ message, scalar }: DescField): readonly [wireType: number, Write] | undefined {
  if (message) return [LENGTH, messageWriter(message)];
  return scalar === undefined ? undefined : SCALARS.get(scalar);
}

const SCALARS: ReadonlyMap<ScalarType, readonly [wireType: number, Write]> = new Map([
  [ScalarType.STRING, [LENGTH, (output: WireOutput, value: Encoded) => output.text(textOf(value))]],
  [
    ScalarType.BYTES,
    [LENGTH, (output: WireOutput, value: Encoded) => output.bytes(Buffer.from(textOf(value), "base64"))],
  ],
  [ScalarType.BOOL, [VARINT, writeFlag]],
  [ScalarType.INT32, [VARINT, (output: WireOutput, value: Encoded) => output.int64(integerOf(value, 32))]],
  [ScalarType.INT64, [VARINT, (output: WireOutput, value: Encoded) => output.int64(integerOf(value, 64))]],
]);

function writeFlag(output: WireOutput, value: Encoded): void {
  if (typeof value !== "boolean") throw new Unfit();
  output.byte(value ? 1 : 0);
}

function textOf(value: Encoded): string {
  if (typeof value !== "string") throw new Unfit();
  return value;
}

/** Numbers may be texts, which hold more digits. */
function integerOf(value: Encoded, bits: number): bigint {
  const isInteger = typeof value === "string" ? /^-?\d{1,20}$/.test(value) : Number.isInteger(value);
  if (!isInteger || (typeof value !== "string" && typeof value !== "number")) throw new Unfit();
  const integer = BigInt(value);
  if (BigInt.asIntN(bits, integer) !== integer) throw new Unfit();
  return integer;
}

const VALUE = "google.protobuf.Value";

function messageWriter(schema: DescMessage): Write {
  switch (schema.typeName) {
    case VALUE:
      return writeValue;
    case "google.protobuf.Struct":
      return (output, value) => writeStruct(output, objectOf(value));
    case "google.protobuf.FieldMask":
      return writePaths;
    default: {
      const fields = fieldsOf(schema);
      return (output, value) => {
        const start = output.begin();
        writeFields(output, fields, objectOf(value));
        output.end(start);
      };
    }
  }
}

/** Paths are in snake case, and their JSON form in camel case. */
function writePaths(output: WireOutput, mask: Encoded): void {
  const paths = textOf(mask);
  const start = output.begin();
  for (const path of paths === "" ? [] : paths.split(",")) {
    output.byte((1 << 3) | LENGTH);
    output.text(path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  }
  output.end(start);
}

function objectOf(value: Encoded): EncodedObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Unfit();
  return value;
}
