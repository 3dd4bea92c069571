import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeMessage, encodeMessage, METHODS } from "../../../clients/typescript/src/node/codecs.js";
import { readMessage } from "../../../clients/typescript/src/node/message-reader.js";
import { writeMessage } from "../../../clients/typescript/src/node/message-writer.js";
import { clientFailure } from "./support/error-of.js";

// The library's own codec is the reference.
const requests = new Map([...METHODS.values()].map(({ input }) => [input.typeName, input]));
const responses = new Map([...METHODS.values()].map(({ output }) => [output.typeName, output]));
const RUNS = { numRuns: 25 };

const text = fc.oneof(fc.string(), fc.string({ unit: "grapheme", maxLength: 200 }), fc.constant("é".repeat(70)));
const json: fc.Arbitrary<JsonValue> = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)));

const SCALARS: ReadonlyMap<ScalarType, fc.Arbitrary<JsonValue>> = new Map<ScalarType, fc.Arbitrary<JsonValue>>([
  [ScalarType.STRING, text],
  [ScalarType.BYTES, fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64"))],
  [ScalarType.BOOL, fc.boolean()],
  [ScalarType.INT32, fc.integer()],
  [ScalarType.INT64, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)],
]);

/** JSON of a message. */
function jsonOf(schema: DescMessage, depth = 0): fc.Arbitrary<JsonValue> {
  switch (schema.typeName) {
    case "google.protobuf.Value":
      return json;
    case "google.protobuf.Struct":
      return fc.dictionary(text, json, { maxKeys: 4 });
    case "google.protobuf.Timestamp":
      return fc
        .date({ min: new Date(-1e13), max: new Date("9999-01-01"), noInvalidDate: true })
        .map((date) => date.toISOString());
    case "google.protobuf.FieldMask":
      return fc.array(fc.constantFrom("name", "destinationUrl"), { maxLength: 3 }).map((paths) => paths.join(","));
    default: {
      const fields = schema.fields.filter((field) => !isChoice(field) && !isLeftOut(field));
      const values = depth > 3 ? [] : fields.map((field) => [field.jsonName, fieldOf(field, depth)] as const);
      return fc
        .record(Object.fromEntries(values), { requiredKeys: [] })
        .map((record) => JSON.parse(JSON.stringify(record)));
    }
  }
}

function fieldOf(field: DescField, depth: number): fc.Arbitrary<JsonValue> {
  const one = field.message ? jsonOf(field.message, depth + 1) : field.scalar && SCALARS.get(field.scalar);
  if (!one) throw new Error(`${field.parent.typeName}.${field.name} is of a kind that the codec does not know`);
  if (field.fieldKind === "list") return fc.array(one, { maxLength: 3 });
  return field.fieldKind === "map" ? fc.dictionary(text, one, { maxKeys: 3 }) : one;
}

/** The bytes of a token whose data is a list in a list, this many times. */
function nestedLists(depth: number): Buffer {
  const heads: Buffer[] = [];
  let bytes = 0;
  const wrap = (tag: number) => {
    const rest: number[] = [];
    for (let length = bytes; length > 0x7f; length >>>= 7) rest.push((length & 0x7f) | 0x80);
    const head = Buffer.from([tag, ...rest, bytes >>> (7 * rest.length)]);
    heads.push(head);
    bytes += head.length;
  };
  for (let n = 0; n < depth; n += 1) {
    wrap((1 << 3) | 2);
    wrap((6 << 3) | 2);
  }
  const data = METHODS.get("TokenService/GetToken")?.output.fields.find(({ name }) => name === "data");
  wrap(((data?.number ?? 0) << 3) | 2);
  return Buffer.concat(heads.toReversed());
}

const isChoice = ({ oneof }: DescField) => oneof !== undefined && oneof.fields.length > 1;
/** No method fills `HttpBody.extensions`. */
const isLeftOut = ({ message }: DescField) => message?.typeName === "google.protobuf.Any";

/** As JSON of protobuf: without what is empty by default, and with times as texts. */
const plain = (schema: DescMessage, value: unknown) => fromJson(schema, JSON.parse(JSON.stringify(value)));

describe("the codec of messages", () => {
  it.each([...requests.keys()])("writes %s as the library does", (name) => {
    const schema = requests.get(name);
    if (!schema) throw new Error(name);
    fc.assert(
      fc.property(jsonOf(schema), (input) => {
        const bytes = Uint8Array.from(writeMessage(schema, Object(input), 5).subarray(5));
        expect(fromBinary(schema, bytes)).toEqual(fromJson(schema, input));
      }),
      RUNS,
    );
  });

  it.each([...responses.keys()])("reads %s as the library does", (name) => {
    const schema = responses.get(name);
    if (!schema) throw new Error(name);
    fc.assert(
      fc.property(jsonOf(schema), (input) => {
        const message = fromJson(schema, input);
        expect(plain(schema, readMessage(schema, toBinary(schema, message)))).toEqual(message);
      }),
      RUNS,
    );
  });

  it("reads bytes that are no message as a bad response, and nothing else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const failure = clientFailure(() => decodeMessage("TokenService/GetToken", bytes));
        expect(failure?.code ?? "bad_answer").toBe("bad_answer");
      }),
    );
    // Each part of a whole message is either whole fields or an error.
    const schema = METHODS.get("TokenService/GetToken")?.output;
    if (!schema) throw new Error("GetToken");
    const whole = toBinary(schema, fromJson(schema, { id: "x".repeat(300), data: { a: [1, { b: null }] } }));
    expect(clientFailure(() => decodeMessage("TokenService/GetToken", whole.subarray(0, 200)))?.code).toBe(
      "bad_answer",
    );
    expect(clientFailure(() => decodeMessage("TokenService/GetToken", nestedLists(50_000)))?.code).toBe("bad_answer");
  });

  it("keeps a key named __proto__", () => {
    const data: unknown = JSON.parse('{"__proto__":{"a":1}}');
    const bytes = encodeMessage("TokenService/CreateToken", { data: Object(data) }, 0);
    const read = METHODS.get("TokenService/CreateToken")?.input;
    if (!read) throw new Error("CreateToken");
    expect(JSON.stringify(readMessage(read, bytes))).toBe('{"data":{"__proto__":{"a":1}}}');
  });

  it("reads an entry of a map without its value as the default", () => {
    const read = METHODS.get("TokenService/CreateToken")?.input;
    if (!read) throw new Error("CreateToken");
    const entryOf = (key: string) => Buffer.concat([Buffer.from([0x0a, key.length]), Buffer.from(key)]);
    const metadata = read.fields.find(({ name }) => name === "metadata");
    const data = read.fields.find(({ name }) => name === "data");
    const field = (number: number, content: Buffer) =>
      Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
    const struct = field(5, field(1, entryOf("card")));
    const bytes = Buffer.concat([field(metadata?.number ?? 0, entryOf("order")), field(data?.number ?? 0, struct)]);
    expect(readMessage(read, bytes)).toEqual({ metadata: { order: "" }, data: { card: null } });
  });

  it.each([
    ["TokenService/CreateToken", { type: 5 }, "type", "another type"],
    ["TokenService/CreateToken", { nothing: 5 }, "nothing", "not a field"],
    ["TokenService/CreateToken", { containers: "/x/" }, "containers", "another type"],
    ["TokenService/CreateToken", { metadata: { a: 1 } }, "metadata", "another type"],
    ["TokenService/ListTokens", { page: 1.5 }, "page", "another type"],
    ["TokenService/ListTokens", { page: 2 ** 31 }, "page", "another type"],
    ["ApplicationService/CreateApplication", { rules: [{ priority: "high" }] }, "rules[0].priority", "another type"],
    ["ApplicationService/CreateApplication", { rules: ["x"] }, "rules[0]", "another type"],
    ["ProxyService/InvokeProxy", { proxyKey: "a", proxyUrl: "b" }, "proxyUrl", "excludes"],
  ])("refuses %s with %j by its field", (method, input, field, words) => {
    const failure = clientFailure(() => encodeMessage(method, input, 5));
    expect(failure).toMatchObject({ code: "validation_failed", fields: { [field]: [expect.stringContaining(words)] } });
  });
});
