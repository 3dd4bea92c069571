import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  isMessage,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, it } from "vitest";
import { CreateTokenRequestSchema, TokenizeRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { readLargeBinary, readLargeJson } from "../../../src/api/messages/large-message.js";
import type { Json } from "../../../src/base/json.js";
import { toValue } from "../../../src/services/value.js";

const DATA: readonly (readonly [string, Json])[] = [
  ["null", null],
  ["booleans", [true, false]],
  ["numbers", [0, -0, 1, -1.5, 1e300, 5e-324]],
  ["an empty text", ""],
  ["texts", ["x", "x".repeat(24), "x".repeat(25), "\u00e4".repeat(50), "\u{1f600}", "\0", "\ufeffx"]],
  ["empty containers", [[], {}, [{}], { a: [] }]],
  ["nested objects", { a: { b: { c: [1, { d: "e" }] } }, "": 1 }],
  ["names of prototypes", JSON.parse('{"__proto__":{"a":1},"constructor":2,"toString":3}')],
  ["60 levels", JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`)],
];

const LIMIT = { recursionLimit: 272 };

/** The largest messages yield first. */
const LARGE = 100_000;

/** What a read ends in, for comparison with the library. */
async function outcome(read: () => Message | Promise<Message>): Promise<Message | "refused"> {
  try {
    return await read();
  } catch {
    return "refused";
  }
}

const bytesOf = (write: (writer: BinaryWriter) => void): Uint8Array => {
  const writer = new BinaryWriter();
  write(writer);
  return writer.finish();
};
const field = (number: number, bytes: Uint8Array) =>
  bytesOf((writer) => writer.tag(number, WireType.LengthDelimited).bytes(bytes));
const text = (value: string) => new TextEncoder().encode(value);
const flag = (number: number, value: number) => bytesOf((writer) => writer.tag(number, WireType.Varint).uint32(value));

async function expectSameBinary(type: DescMessage, bytes: Uint8Array): Promise<void> {
  const library = await outcome(() => fromBinary(type, bytes, { ...LIMIT, readUnknownFields: false }));
  expect(await outcome(() => readLargeBinary(type, bytes))).toEqual(library);
}

describe("a large message", () => {
  it.each(DATA)("of %s is read as the library reads it", async (_, data) => {
    const made = create(CreateTokenRequestSchema, {
      ...{ type: "token", id: "id", containers: ["/a/", "/b/"], metadata: { a: "b" } },
      ...{ data: toValue(data), mask: toValue([data, data]), deduplicateToken: true },
    });
    const bytes = toBinary(CreateTokenRequestSchema, made);
    const read = await readLargeBinary(CreateTokenRequestSchema, bytes);
    expect(read).toEqual(fromBinary(CreateTokenRequestSchema, bytes, LIMIT));
    if (!isMessage(read, CreateTokenRequestSchema)) throw new Error("another message was read");
    expect(toBinary(CreateTokenRequestSchema, read)).toEqual(bytes);
    const json = toJson(CreateTokenRequestSchema, made);
    const readJson = await readLargeJson(CreateTokenRequestSchema, json, LARGE, LIMIT);
    if (!isMessage(readJson, CreateTokenRequestSchema)) throw new Error("another message was read");
    // Its values make their parts when they are asked for, and are not equal before.
    expect(toBinary(CreateTokenRequestSchema, readJson)).toEqual(bytes);
    expect(fromJson(CreateTokenRequestSchema, json, LIMIT)).toEqual(fromBinary(CreateTokenRequestSchema, bytes, LIMIT));
  });

  const one = flag(4, 1);
  const member = Buffer.concat([field(1, text("k")), field(2, one)]);
  const forms: readonly (readonly [string, Uint8Array])[] = [
    ["without a kind", new Uint8Array()],
    ["with two kinds", Buffer.concat([one, field(3, text("x"))])],
    ["with two structs, which are merged", Buffer.concat([field(5, field(1, member)), field(5, field(1, member))])],
    ["with another null", flag(1, 7)],
    ["with another true", flag(4, 2)],
    ["with an unknown kind", flag(9, 1)],
    ["with a kind of another form", flag(3, 1)],
    ["with an entry without a value", field(5, field(1, field(1, text("k"))))],
    ["with an entry without a name", field(5, field(1, field(2, one)))],
    ["with an entry whose value comes first", field(5, field(1, Buffer.concat([field(2, one), field(1, text("k"))])))],
    ["with an entry of two values", field(5, field(1, Buffer.concat([member, field(2, one)])))],
    ["with a name that repeats", field(5, Buffer.concat([field(1, member), field(1, member)]))],
    ["with a text that is not UTF-8", field(3, new Uint8Array([0xff]))],
    ["with a long text that is not UTF-8", field(3, new Uint8Array(100).fill(0xc3))],
    ["with a text that does not end", new Uint8Array([0x1a, 0x7f, 0x61])],
    ["with a number that does not end", new Uint8Array([0x11, 0])],
    ["with an unknown field in a list", field(6, Buffer.concat([field(1, one), flag(7, 1)]))],
    ["with a group", new Uint8Array([0x0b, 0x0c])],
  ];
  it.each(forms)("%s is read as the library reads it", async (_, value) => {
    await expectSameBinary(TokenizeRequestSchema, field(1, value));
    await expectSameBinary(TokenizeRequestSchema, Buffer.concat([field(1, value), flag(99, 5)]));
    await expectSameBinary(TokenizeRequestSchema, Buffer.concat([field(1, one), field(1, value)]));
  });

  it("reads a message that ends too early, at any byte, as the library reads it", async () => {
    const message = create(CreateTokenRequestSchema, {
      type: "token",
      data: toValue({ a: [1, "\u00e4", null, true] }),
    });
    const bytes = toBinary(CreateTokenRequestSchema, message);
    for (let end = 0; end < bytes.length; end += 1) {
      await expectSameBinary(CreateTokenRequestSchema, bytes.subarray(0, end));
    }
  });

  it("in JSON has the library's meaning for null, both names of a field, and what is no object", async () => {
    for (const json of [{ data: null }, { fingerprintExpression: "x", data: 1 }, [1], null, 5, { data: 1, type: 7 }]) {
      const library = await outcome(() => fromJson(CreateTokenRequestSchema, json));
      expect(await outcome(() => readLargeJson(CreateTokenRequestSchema, json, LARGE, {}))).toEqual(library);
    }
  });
});
