import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonReadOptions,
  type Message,
} from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import type { Value } from "@bufbuild/protobuf/wkt";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import { yieldToEventLoop } from "../../base/yield-to-event-loop.js";
import { toValue } from "../../services/value.js";
import { RECURSION_LIMIT } from "./message-structure.js";
import { NonCanonicalEncoding, readValue } from "./value-wire.js";
import { fieldNumber, tagWireType, WireCursor } from "./wire-cursor.js";

const BINARY_OPTIONS = { recursionLimit: RECURSION_LIMIT, readUnknownFields: false };

/**
 * Reads a large binary message like `fromBinary`, and its fields of any JSON by {@link readValue}. Its structure has been
 * bounded before.
 * @throws {Error} for bytes that are not a message.
 */
export async function readLargeBinary(type: DescMessage, bytes: Uint8Array): Promise<Message> {
  const split = splitValues(type, bytes);
  if (!split) return fromBinary(type, bytes, BINARY_OPTIONS);
  const message = fromBinary(type, Buffer.concat(split.others), BINARY_OPTIONS);
  for (const { field, start, end } of split.values) {
    await yieldToEventLoop(bytes.length);
    try {
      Reflect.set(message, field.localName, readValue(bytes, start, end));
    } catch (error) {
      if (!(error instanceof NonCanonicalEncoding)) throw error;
      await yieldToEventLoop(bytes.length);
      return fromBinary(type, bytes, BINARY_OPTIONS);
    }
  }
  return message;
}

interface SplitMessage {
  readonly values: readonly { readonly field: DescField; readonly start: number; readonly end: number }[];
  /** The bytes of all other fields. */
  readonly others: readonly Uint8Array[];
}

/** Undefined if a message has no field of any JSON, or one twice, which would have to be merged. */
function splitValues(type: DescMessage, bytes: Uint8Array): SplitMessage | undefined {
  const fields = new Map(valueFieldsOf(type).map((field) => [field.number, field]));
  const values: SplitMessage["values"][number][] = [];
  const others: Uint8Array[] = [];
  const cursor = new WireCursor(bytes);
  let from = 0;
  while (cursor.at < bytes.length) {
    const tagAt = cursor.at;
    const tag = cursor.uint32();
    const field = tagWireType(tag) === WireType.LengthDelimited ? fields.get(fieldNumber(tag)) : undefined;
    if (!field) {
      cursor.skip(tagWireType(tag));
      continue;
    }
    if (values.some((value) => value.field === field)) return undefined;
    others.push(bytes.subarray(from, tagAt));
    const length = cursor.uint32();
    const start = cursor.at;
    cursor.at = start + length;
    from = cursor.at;
    values.push({ field, start, end: from });
  }
  others.push(bytes.subarray(from));
  return values.length > 0 ? { values, others } : undefined;
}

/**
 * Reads a large message like `fromJson`, and its fields of any JSON as REST does.
 * @throws {Error} for JSON that is not such a message.
 */
export async function readLargeJson(
  type: DescMessage,
  json: Json,
  bytes: number,
  options: Partial<JsonReadOptions>,
): Promise<Message> {
  const fields = valueFieldsOf(type);
  // `search_indexes` and `searchIndexes` at once have the library's meaning.
  if (!isJsonObject(json) || fields.some((field) => namesIn(json, field).length > 1))
    return fromJson(type, json, options);
  const values = fields.flatMap((field) => namesIn(json, field).map((name) => ({ field, name })));
  const names = new Set(values.map(({ name }) => name));
  const others = Object.fromEntries(Object.entries(json).filter(([name]) => !names.has(name)));
  const message = fromJson(type, others, options);
  for (const { field, name } of values) {
    await yieldToEventLoop(bytes);
    const value: Value = toValue(json[name] ?? null);
    Reflect.set(message, field.localName, value);
  }
  return message;
}

function namesIn(json: JsonObject, field: DescField): readonly string[] {
  return [...new Set([field.jsonName, field.name])].filter((name) => Object.hasOwn(json, name));
}

/** The fields of one `google.protobuf.Value` each, where nearly all of a large message is. */
function valueFieldsOf(type: DescMessage): readonly DescField[] {
  return type.fields.filter(
    (field) => field.fieldKind === "message" && !field.oneof && field.message.typeName === "google.protobuf.Value",
  );
}
