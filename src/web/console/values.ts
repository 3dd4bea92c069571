import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";

export function textOfValue(value: Value | undefined): string {
  return value === undefined ? "" : JSON.stringify(toJson(ValueSchema, value), undefined, 2);
}

/** The body of a request or response: a text as it is, or with indentation if it is JSON. */
export function textOfBody(value: Value | undefined): string {
  if (value?.kind.case !== "stringValue") return textOfValue(value);
  const text = value.kind.value;
  const parsed = valueOfText(text);
  return parsed === undefined ? text : textOfValue(parsed);
}

export function shortTextOfValue(value: Value | undefined): string {
  if (value === undefined) return "";
  const json = toJson(ValueSchema, value);
  return typeof json === "string" ? json : JSON.stringify(json);
}

/** The value that a JSON text has; undefined if it is not JSON. */
export function valueOfText(text: string): Value | undefined {
  try {
    const json: JsonValue = JSON.parse(text);
    return fromJson(ValueSchema, json);
  } catch {
    return undefined;
  }
}
