import { NullValue, type Value } from "@bufbuild/protobuf/wkt";
import { invalid } from "../base/fault.js";
import { type Json, type JsonObject, setOwnProperty } from "../base/json.js";

/** Levels of objects and arrays that a JSON value may have. */
export const MAX_DEPTH = 64;

/**
 * A protobuf Value as plain JavaScript.
 * @throws {Fault} validation_failed naming the place below `field`, for values that JSON cannot hold: NaN and
 * infinities, a Value without a kind, lone surrogates, more than 64 levels.
 */
export function toJson(value: Value, field: string): Json {
  return convert(value, [field]);
}

/**
 * Like {@link toJson}.
 * @throws {Fault} validation_failed also if the value is not an object.
 */
export function toJsonObject(value: Value, field: string): JsonObject {
  if (value.kind.case !== "structValue") throw invalid(field, "must be an object");
  return convertFields(value.kind.value.fields, [field]);
}

type Trail = (string | number)[];

function convert(value: Value, trail: Trail): Json {
  const { kind } = value;
  switch (kind.case) {
    case "stringValue":
      if (!kind.value.isWellFormed())
        throw invalid(placeOf(trail), "must be valid Unicode: it contains an unpaired surrogate");
      return kind.value;
    case "numberValue":
      if (!Number.isFinite(kind.value)) throw invalid(placeOf(trail), "must be a finite number; send it as a string");
      return kind.value;
    case "boolValue":
      return kind.value;
    case "nullValue":
      return null;
    case "structValue":
      return convertFields(kind.value.fields, trail);
    case "listValue": {
      checkDepth(trail);
      return kind.value.values.map((item, index) => {
        trail.push(index);
        const converted = convert(item, trail);
        trail.pop();
        return converted;
      });
    }
    default:
      throw invalid(placeOf(trail), "must have a kind: null, a number, a string, a boolean, an object or a list");
  }
}

function convertFields(fields: Readonly<Record<string, Value>>, trail: Trail): JsonObject {
  checkDepth(trail);
  const converted: JsonObject = {};
  for (const [key, field] of Object.entries(fields)) {
    if (!key.isWellFormed()) throw invalid(placeOf(trail), "must have property names of valid Unicode");
    trail.push(key);
    setOwnProperty(converted, key, convert(field, trail));
    trail.pop();
  }
  return converted;
}

function checkDepth(trail: Trail): void {
  if (trail.length > MAX_DEPTH) throw invalid(String(trail[0]), `must not nest deeper than ${MAX_DEPTH} levels`);
}

function placeOf(trail: Trail): string {
  return trail
    .map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join("");
}

/** Plain JSON as a protobuf Value. */
export function toValue(json: Json): Value {
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
    return { case: "listValue", value: { $typeName: "google.protobuf.ListValue", values: json.map(toValue) } };
  }
  const fields: Record<string, Value> = {};
  for (const [key, value] of Object.entries(json)) setOwnProperty(fields, key, toValue(value));
  return { case: "structValue", value: { $typeName: "google.protobuf.Struct", fields } };
}
