import { fromBinary, fromJson, isMessage, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { JsonValue } from "../../src/services/json-value.js";
import { toJson, toValue } from "../../src/services/value.js";

/** Small and large values. */
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.string({ unit: "grapheme" }),
    fc.integer(),
    fc.constantFrom<Json>(
      null,
      true,
      Array(1_200).fill(1),
      Object.fromEntries(
        Array(1_100)
          .entries()
          .map(([n]) => [`k${n}`, n]),
      ),
    ),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "b", "7", "__proto__"), tie("json"), { maxKeys: 4 }),
  ),
}));

describe("JSON as a protobuf Value", () => {
  it("is the same message as the library reads from it, whatever its size", () => {
    fc.assert(
      fc.property(json, (value) => {
        const made = toValue(value);
        expect(isMessage(made, ValueSchema)).toBe(true);
        const read = fromBinary(ValueSchema, toBinary(ValueSchema, made));
        expect(read).toEqual(fromJson(ValueSchema, value));
        expect(JSON.stringify(toJson(made, "data"))).toBe(JSON.stringify(value));
        expect(JSON.stringify(toJson(read, "data"))).toBe(JSON.stringify(value));
      }),
      { numRuns: 200 },
    );
  });

  it("makes the parts of a list or object when they are asked for, once", () => {
    const made = toValue({ list: Array(5_000).fill(7) });
    expect(made.kind.case).toBe("structValue");
    const list = made.kind.case === "structValue" ? made.kind.value.fields.list : undefined;
    expect(list).toBeInstanceOf(JsonValue);
    expect(list?.kind).toBe(list?.kind);
    expect(list?.kind).toMatchObject({ case: "listValue" });
  });

  it("has no message for each entry of a mask", () => {
    const mask = { number: "{{ data.number }}", expiration_year: "{{ data.expiration_year }}" };
    expect(toValue(mask)).toBeInstanceOf(JsonValue);
  });

  it("cannot be changed: what is written is what was made", () => {
    const list = toValue([7]);
    expect(() => Object.assign(list, { kind: { case: undefined } })).toThrow(TypeError);
  });

  it.each<[string, Json, string]>([
    ["half a pair of surrogates", [...Array(2_000).fill(1), "\ud800"], "data[2000]"],
    ["a number without an end", { a: [...Array(2_000).fill(1), Number.POSITIVE_INFINITY] }, "data.a[2000]"],
  ])("is refused with the place of %s", (_, value, place) => {
    expect(() => toJson(toValue(value), "data")).toThrow(
      expect.objectContaining({ code: "validation_failed", fields: { [place]: [expect.any(String)] } }),
    );
  });
});
