import { type DescField, type DescMessage, isMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import {
  FeatureSet_FieldPresence,
  TimestampSchema,
  timestampMs,
  type Value,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { JsonValue } from "../../services/json-value.js";
import { omitsEmpty, restFields, restName } from "./field-name.js";

/**
 * Writes a message as JSON text: snake_case names, int64 as numbers, times in UTC with milliseconds. Fields with
 * presence are written if set, all others always.
 */
export type JsonWriter = (message: Message) => string;

type WriteValue = (value: unknown) => string;

/** Built once for each message at start. */
export function compileJsonWriter(desc: DescMessage): JsonWriter {
  return messageWriter(desc, new Map());
}

export function compileFieldWriter(field: DescField): (message: Message) => string {
  const write = fieldWriter(field, new Map());
  return (message) => write(Reflect.get(message, field.localName)) ?? "null";
}

function messageWriter(desc: DescMessage, known: Map<string, JsonWriter>): JsonWriter {
  const found = known.get(desc.typeName);
  if (found) return found;
  let fields: { prefix: string; localName: string; write: (value: unknown) => string | undefined }[] | undefined;
  const writer: JsonWriter = (message) => {
    // Compiled at the first write, since messages may contain themselves.
    fields ??= restFields(desc).map((field) => ({
      prefix: `${JSON.stringify(restName(field))}:`,
      localName: field.localName,
      write: fieldWriter(field, known),
    }));
    let text = "";
    for (const { prefix, localName, write } of fields) {
      const value = write(Reflect.get(message, localName));
      if (value !== undefined) text += text === "" ? prefix + value : `,${prefix}${value}`;
    }
    return `{${text}}`;
  };
  known.set(desc.typeName, writer);
  return writer;
}

/** Gives undefined for a field that is not set. */
function fieldWriter(field: DescField, known: Map<string, JsonWriter>): (value: unknown) => string | undefined {
  if (field.oneof) throw new Error(`REST cannot write the oneof ${field.toString()}`);
  const omitEmpty = omitsEmpty(field);
  if (field.fieldKind === "list") {
    const write = singleWriter(field, known);
    return (value) => {
      if (!Array.isArray(value) || (omitEmpty && value.length === 0)) return omitEmpty ? undefined : "[]";
      return `[${value.map(write).join(",")}]`;
    };
  }
  if (field.fieldKind === "map") {
    const write = singleWriter(field, known);
    return (value) => {
      const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
      if (omitEmpty && entries.length === 0) return undefined;
      return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${write(item)}`).join(",")}}`;
    };
  }
  const write = singleWriter(field, known);
  const isOptional = field.presence !== FeatureSet_FieldPresence.IMPLICIT;
  return (value) => (value === undefined && isOptional ? undefined : write(value));
}

function singleWriter(field: DescField, known: Map<string, JsonWriter>): WriteValue {
  const { message } = field;
  if (message) {
    switch (message.typeName) {
      case "google.protobuf.Value":
        return (value) => (isMessage(value, ValueSchema) ? writeValue(value) : "null");
      case "google.protobuf.Struct":
        return (value) => JSON.stringify(value);
      case "google.protobuf.Timestamp":
        return (value) =>
          isMessage(value, TimestampSchema) ? `"${new Date(timestampMs(value)).toISOString()}"` : "null";
      default: {
        const write = messageWriter(message, known);
        return (value) => (isMessage(value, message) ? write(value) : "null");
      }
    }
  }
  if (field.scalar === ScalarType.STRING) return (value) => JSON.stringify(value);
  return (value) => String(value);
}

function writeValue(value: Value): string {
  return value instanceof JsonValue ? JSON.stringify(value.json) : writeKind(value);
}

function writeKind({ kind }: Value): string {
  switch (kind.case) {
    case "stringValue":
    case "numberValue":
    case "boolValue":
      return JSON.stringify(kind.value);
    case "listValue":
      return `[${kind.value.values.map(writeValue).join(",")}]`;
    case "structValue": {
      let text = "";
      for (const [key, value] of Object.entries(kind.value.fields)) {
        const member = `${JSON.stringify(key)}:${writeValue(value)}`;
        text += text === "" ? member : `,${member}`;
      }
      return `{${text}}`;
    }
    default:
      return "null";
  }
}
