import { NullValue, type Value } from "@bufbuild/protobuf/wkt";
import { type Json, setOwnProperty } from "../base/json.js";

/**
 * Parts of a value that are made at once. A message of each of 50,000 numbers takes 20 ms, and 5 MB; those of a mask of
 * 900 expressions, made and read twice in a request, took as long as all that is parsed of it.
 */
const MAX_AT_ONCE = 200;

/**
 * A list or object as a protobuf Value whose parts are made when they are asked for: REST reads and writes large values
 * without. It cannot be changed: both forms stay the same.
 */
export class JsonValue implements Value {
  readonly $typeName = "google.protobuf.Value";
  readonly json: Json;
  #kind: Value["kind"] | undefined;

  constructor(json: Json) {
    this.json = json;
  }

  get kind(): Value["kind"] {
    this.#kind ??= kindOf(this.json, { parts: 0 });
    return this.#kind;
  }
}

/** Plain JSON as a protobuf Value. Its sender changes neither afterwards. */
export function toValue(json: Json): Value {
  return memberValue(json, { parts: 0 });
}

/** What has been made so far. */
interface Made {
  parts: number;
}

function memberValue(json: Json, made: Made): Value {
  made.parts += 1;
  if (typeof json === "object" && json !== null && made.parts + valueSize(json) > MAX_AT_ONCE)
    return new JsonValue(json);
  return { $typeName: "google.protobuf.Value", kind: kindOf(json, made) };
}

function valueSize(json: Json[] | { [key: string]: Json }): number {
  return Array.isArray(json) ? json.length : Object.keys(json).length;
}

function kindOf(json: Json, made: Made): Value["kind"] {
  switch (typeof json) {
    case "string":
      return { case: "stringValue", value: json };
    case "number":
      return { case: "numberValue", value: json };
    case "boolean":
      return { case: "boolValue", value: json };
    default:
  }
  if (json === null) return { case: "nullValue", value: NullValue.NULL_VALUE };
  if (Array.isArray(json)) {
    const values = json.map((item) => memberValue(item, made));
    return { case: "listValue", value: { $typeName: "google.protobuf.ListValue", values } };
  }
  const fields: Record<string, Value> = {};
  for (const [key, value] of Object.entries(json)) setOwnProperty(fields, key, memberValue(value, made));
  return { case: "structValue", value: { $typeName: "google.protobuf.Struct", fields } };
}
