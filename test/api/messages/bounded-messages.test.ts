import { create, type DescMessage, fromJson, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CreateTokenRequestSchema, TokenizeRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import {
  fieldMaxEntries,
  fieldTextSizes,
  isFarTooLong,
  tooManyEntries,
} from "../../../src/api/messages/field-sizes.js";
import { readJsonBytes } from "../../../src/api/messages/json-text.js";
import { requireBoundedMessage } from "../../../src/api/messages/message-structure.js";
import type { Json } from "../../../src/base/json.js";
import { MAX_NAMES, MAX_VALUES } from "../../../src/base/json-structure.js";

/** Binary data of a token, as a client sends it. */
const tokenWith = (data: Json): Uint8Array =>
  toBinary(
    CreateTokenRequestSchema,
    create(CreateTokenRequestSchema, { type: "token", data: fromJson(ValueSchema, data) }),
  );
const bounded =
  (bytes: Uint8Array, desc: DescMessage = CreateTokenRequestSchema) =>
  () =>
    requireBoundedMessage(desc, bytes);
const refused = (detail: string) => expect.objectContaining({ code: "malformed_body", fields: { body: [detail] } });
/** Nested messages of field 3, the data, each a list (6) of one value (1). */
const nested = (levels: number): Uint8Array => {
  let inner: Uint8Array = new Uint8Array();
  for (let level = 0; level < levels; level += 1) {
    const list = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(inner).finish();
    inner = new BinaryWriter().tag(6, WireType.LengthDelimited).bytes(list).finish();
  }
  return new BinaryWriter().tag(3, WireType.LengthDelimited).bytes(inner).finish();
};

describe("a binary message", () => {
  it("is accepted whatever JSON it has, within the limits", () => {
    const json = fc.jsonValue({ maxDepth: 5 }).map((value): Json => JSON.parse(JSON.stringify(value)));
    fc.assert(fc.property(json, (data) => void expect(bounded(tokenWith(data))).not.toThrow()));
  });

  it("has as many values as JSON may have, and no more", () => {
    // The message itself has two: the type and the data.
    expect(bounded(tokenWith(new Array<Json>(MAX_VALUES - 2).fill(null)))).not.toThrow();
    expect(bounded(tokenWith(new Array<Json>(MAX_VALUES - 1).fill(null)))).toThrow(
      refused(`must hold at most ${MAX_VALUES} values; send it in parts`),
    );
  });

  it("has as many different names as JSON may have, each counted once", () => {
    const objects = (count: number): Json => ({
      ...Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, 0])),
    });
    expect(bounded(tokenWith(objects(MAX_NAMES)))).not.toThrow();
    expect(bounded(tokenWith(objects(MAX_NAMES + 1)))).toThrow(
      refused(`must hold at most ${MAX_NAMES} different field names; send it in parts`),
    );
    expect(bounded(tokenWith([objects(MAX_NAMES), objects(MAX_NAMES)]))).not.toThrow();
  });

  it("nests as deeply as a response can, and no deeper", () => {
    expect(bounded(nested(128))).not.toThrow();
    expect(bounded(nested(280))).toThrow(refused("must be a valid message"));
  });

  it.each<[string, Uint8Array]>([
    ["ends within a field", tokenWith({ a: 1 }).subarray(0, -1)],
    ["states a length beyond its end", Uint8Array.from([0x12, 0x7f, 0x61])],
    ["has a tag that does not end", Uint8Array.from([0xff, 0xff, 0xff])],
    ["has a nested message that ends beyond its parent", Uint8Array.from([0x1a, 0x02, 0x32, 0x05])],
    ["has a wire type that does not exist", Uint8Array.from([0x0f])],
  ])("is refused if it %s", (_, bytes) => {
    expect(bounded(bytes)).toThrow(refused("must be a valid message"));
  });

  it("is accepted or refused, and never an error of the server, if its bytes are random", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.constantFrom<DescMessage>(CreateTokenRequestSchema, TokenizeRequestSchema),
        (bytes, desc) => {
          try {
            requireBoundedMessage(desc, bytes);
          } catch (error) {
            expect(error).toMatchObject({ code: "malformed_body" });
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("JSON of any protocol", () => {
  const read = (text: string | Uint8Array) => readJsonBytes(typeof text === "string" ? Buffer.from(text) : text);
  const levels = (count: number) => `${"[".repeat(count)}${"]".repeat(count)}`;

  it.each([
    ["an object", '{"a":[1,"é",null]}', { a: [1, "é", null] }],
    ["a text alone", '"x"', "x"],
    ["64 levels within an object", levels(65), JSON.parse(levels(65))],
  ])("is read: %s", async (_, text, value) => {
    expect(await read(text)).toEqual(value);
  });

  it.each<[string, string | Uint8Array, string]>([
    ["nothing", "", "must be valid JSON"],
    ["a comma too many", "[1,]", "must be valid JSON"],
    ["bytes that are not UTF-8", Uint8Array.from([0x22, 0xff, 0x22]), "must be UTF-8"],
    ["a text in UTF-16", Buffer.from('"x"', "utf16le"), "must be valid JSON"],
    ["65 levels within an object", levels(66), "must not nest deeper than 64 levels"],
    [
      "more than so many values",
      `[${"0,".repeat(MAX_VALUES)}0]`,
      `must hold at most ${MAX_VALUES} values; send it in parts`,
    ],
  ])("is refused with %s, which it does not repeat", async (_, text, detail) => {
    await expect(read(text)).rejects.toEqual(refused(detail));
  });
});

describe("the sizes of a field", () => {
  const field = (name: string) => {
    const found = CreateTokenRequestSchema.fields.find((known) => known.name === name);
    if (!found) throw new Error(`there is no field ${name}`);
    return found;
  };

  it.each([
    ["containers", 20, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ["search_indexes", 20, 4_096, Number.POSITIVE_INFINITY],
    ["metadata", 50, 1_000, 200],
    ["fingerprint_expression", Number.POSITIVE_INFINITY, 400, Number.POSITIVE_INFINITY],
    ["type", Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ])("are those of its proto: %s has %d entries, of %d characters, under names of %d", (name, entries, value, key) => {
    expect(fieldMaxEntries(field(name))).toBe(entries);
    expect(fieldTextSizes(field(name))).toEqual({ value, key });
    expect(tooManyEntries(20)).toBe("must have at most 20 entries");
  });

  it("are far exceeded only by a text that no counting of its characters saves", () => {
    expect([
      isFarTooLong("😀".repeat(10), 10),
      isFarTooLong("a".repeat(20), 10),
      isFarTooLong("a".repeat(21), 10),
    ]).toEqual([false, false, true]);
  });
});
