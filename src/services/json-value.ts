import { NullValue, type Value } from "@bufbuild/protobuf/wkt";
import { type Json, setOwnProperty } from "../base/json.js";

/**
 * A list or object as a protobuf Value whose parts are made when they are asked for. REST reads and writes JSON without
 * them: the parts of a card and its mask took 4 KB of each read, and those of 50,000 numbers 20 ms. It cannot be changed,
 * which keeps both forms the same, and must not be spread: a copy would have its JSON, and no kind.
 */
export class JsonValue implements Value {
  readonly $typeName = "google.protobuf.Value";
  readonly json: Json;
  #kind: Value["kind"] | undefined;

  constructor(json: Json) {
    this.json = json;
  }

  get kind(): Value["kind"] {
    this.#kind ??= kindOf(this.json);
    return this.#kind;
  }
}

/** Plain JSON as a protobuf Value. Its sender changes neither afterwards. */
export function toValue(json: Json): Value {
  if (typeof json === "object" && json !== null) return new JsonValue(json);
  return { $typeName: "google.protobuf.Value", kind: kindOf(json) };
}

function kindOf(json: Json): Value["kind"] {
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
    const values = json.map(toValue);
    return { case: "listValue", value: { $typeName: "google.protobuf.ListValue", values } };
  }
  const fields: Record<string, Value> = {};
  for (const [key, value] of Object.entries(json)) setOwnProperty(fields, key, toValue(value));
  return { case: "structValue", value: { $typeName: "google.protobuf.Struct", fields } };
}
