import fc from "fast-check";
import type { Json, JsonObject } from "../../src/base/json.js";
import { resolve, type Schema } from "./api-description.js";

const UUID = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";
/** Texts that match the patterns of the document. */
const SHAPED = [
  ...["USD", "DE", "978", "20300101120000", "2099-01-02T03:04:05Z", "4a-b_c", "a.b"],
  ...["https://example.com/a", "/pci/high/", "data:image/png;base64, iVBORw=="],
];

/** Bodies around a schema: mostly valid, often at a limit or one beyond it, sometimes of another type. */
export function bodyLike(schema: Schema): fc.Arbitrary<Json> {
  const wrong = fc.constantFrom<Json>(7, "text", true, [], {}, [7], { key: 7 });
  return mostly(mostly(valueLike(resolve(schema)), fc.constant(null), mayBeNull(schema) ? 12 : 40), wrong, 30);
}

function mayBeNull({ type, anyOf = [] }: Schema): boolean {
  return (Array.isArray(type) && type.includes("null")) || anyOf.some((choice) => choice.type === "null");
}

function mostly<T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>, times: number): fc.Arbitrary<T> {
  return fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: other });
}

function valueLike(schema: Schema): fc.Arbitrary<Json> {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "string":
      return mostly(fc.constantFrom(...textsOf(schema)), fc.constantFrom(...textsAround(schema)), 8);
    case "integer":
      return fc.constantFrom(...numbersAround(schema));
    case "boolean":
      return fc.boolean();
    case "array":
      return listLike(schema);
    case "object":
      return schema.properties ? objectLike(schema, schema.properties) : mapLike(schema);
    default:
      return fc.constantFrom<Json>("text", 1, false, ["text"], { key: "text" });
  }
}

function textsOf({ enum: choices, format, pattern }: Schema): string[] {
  if (choices) return choices.map(String);
  if (format === "uuid") return [UUID];
  if (format === "email") return ["one@example.com"];
  return pattern === undefined ? ["text"] : SHAPED.filter((text) => new RegExp(pattern).test(text));
}

function textsAround({ maxLength = 10 }: Schema): string[] {
  return ["x".repeat(maxLength), "x".repeat(maxLength + 1), "", UUID.slice(0, 30), ...SHAPED];
}

function numbersAround({ minimum = 0, maximum = 2 ** 31 - 1 }: Schema): number[] {
  return [minimum, minimum + 1, maximum, minimum - 1, maximum + 1, 0.5];
}

function listLike({ items = {}, maxItems = 3 }: Schema): fc.Arbitrary<Json> {
  const few = fc.array(bodyLike(items), { minLength: 1, maxLength: 2 });
  const many = fc.constantFrom(0, maxItems, maxItems + 1).map((length) => Array.from({ length }, () => "text"));
  return mostly(few, many, 9);
}

function mapLike({ additionalProperties = {} }: Schema): fc.Arbitrary<Json> {
  return fc.dictionary(fc.constantFrom("a", "b", "c"), bodyLike(additionalProperties), { maxKeys: 2 });
}

/** The required fields, mostly, and one more: valid bodies must stay common. */
function objectLike({ required = [] }: Schema, properties: Readonly<Record<string, Schema>>): fc.Arbitrary<Json> {
  const fields = Object.entries(properties).map(([name, schema]): [string, fc.Arbitrary<Json>] => [
    name,
    bodyLike(schema),
  ]);
  const needed: fc.Arbitrary<JsonObject> = fc.record(
    Object.fromEntries(fields.filter(([name]) => required.includes(name))),
  );
  const base = mostly(needed, fc.constant({}), 15);
  if (fields.length === 0) return base;
  const one = fc.oneof(...fields.map(([name, value]) => value.map((given): JsonObject => ({ [name]: given }))));
  return fc.tuple(base, one).map(([given, more]) => ({ ...given, ...more }));
}
