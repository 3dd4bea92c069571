import { create, type MessageInitShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApplicationService } from "../../../gen/cloakroom/v1/applications_pb.js";
import { ReactRequestSchema } from "../../../gen/cloakroom/v1/reactors_pb.js";
import { CreateTokenRequestSchema, TokenizeService, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../../src/services/value.js";
import { BINARY_ENCODINGS, ENCODINGS, type Encoding, JSON_ENCODINGS, sendMessage } from "../../support/raw-rpc.js";
import type { RestClient } from "../../support/rest.js";
import { failureIn, failureOf, RPC_PROTOCOLS, type RpcFailure, rpcClient } from "../../support/rpc.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const CREATE = "cloakroom.v1.TokenService/CreateToken";
type Draft = MessageInitShape<typeof CreateTokenRequestSchema>;

const value = (kind: Value["kind"]): Value => ({ $typeName: "google.protobuf.Value", kind });
const number = (double: number) => value({ case: "numberValue", value: double });
const list = (...values: Value[]) =>
  value({ case: "listValue", value: { $typeName: "google.protobuf.ListValue", values } });
const nested = (depth: number): Value => (depth === 0 ? toValue("x") : list(nested(depth - 1)));
const nestedText = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

let tenant: TestTenant;
let backEnd: RestClient & { readonly key: string };
let stored: Stored;
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  stored = await openStored();
});
afterAll(() => stored[Symbol.asyncDispose]());

/** Runs a call that must leave no trace: no token, no application, no log row. */
async function leavingNothing(act: () => Promise<RpcFailure>): Promise<RpcFailure> {
  const before = await stored.counts(tenant.id);
  const failure = await act();
  expect(await stored.counts(tenant.id)).toEqual(before);
  return failure;
}

async function rpcRefusal(
  encoding: Encoding,
  message: Uint8Array | string,
  call: Parameters<typeof sendMessage>[3] = {},
) {
  const error = await sendMessage(encoding, CREATE, message, { key: backEnd.key, ...call });
  if (!error) throw new Error("the call was served");
  return failureIn(error);
}

/** The common part of every error for an invalid message. */
function expectRefusal(failure: RpcFailure, reason: string, fields: readonly string[]): void {
  expect(failure).toMatchObject({ code: "InvalidArgument", reason, fields });
  expect(failure.metadata.get("bt-trace-id")).toMatch(/^[0-9a-f-]{36}$/);
}

describe.each(RPC_PROTOCOLS)("over %s a message with a wrong field", (protocol) => {
  it.each<[string, Draft, string[]]>([
    ["nothing in it", {}, ["type", "data"]],
    ["an unknown type", { type: "nope", data: toValue(1) }, ["type"]],
    ["a wrong card", { type: "card", data: toValue({ number: "1", holder: "x" }) }, ["data.number", "data.holder"]],
    ["an id with a NUL", { type: "token", id: "a\0bc", data: toValue(1) }, ["id"]],
    ["an id with a slash", { type: "token", id: "a/b", data: toValue(1) }, ["id"]],
    ["a wrong container", { type: "token", data: toValue(1), containers: ["/a/", "b"] }, ["containers[1]"]],
    ["metadata with a NUL", { type: "token", data: toValue(1), metadata: { k: "\0" } }, ["metadata.k"]],
    [
      "metadata that is too long",
      { type: "token", data: toValue(1), metadata: { k: "x".repeat(1_001) } },
      ["metadata.k"],
    ],
    [
      "a wrong expression",
      { type: "token", data: toValue(1), searchIndexes: ["{{ data | nope }}"] },
      ["search_indexes[0]"],
    ],
    ["a wrong expiry", { type: "token", data: toValue(1), expiresAt: "never" }, ["expires_at"]],
  ])("%s is rejected, and the field named as REST names it", async (_, draft, fields) => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    expectRefusal(await leavingNothing(() => failureOf(tokens.createToken(draft))), "validation_failed", fields);
  });

  it("an id that is not a UUID, or an invalid page, is rejected", async () => {
    const applications = rpcClient(ApplicationService, protocol, { key: tenant.managementKey });
    expectRefusal(await failureOf(applications.getApplication({ id: "nope" })), "validation_failed", ["id"]);
    expectRefusal(await failureOf(applications.listApplications({ page: 0, size: 101 })), "validation_failed", [
      "page",
      "size",
    ]);
    expectRefusal(await failureOf(applications.listApplications({ id: ["x"] })), "validation_failed", ["id[0]"]);
  });

  it("rules of the wrong kind are rejected", async () => {
    const applications = rpcClient(ApplicationService, protocol, { key: tenant.managementKey });
    const rule = { priority: 0, container: "pci", transform: "show", permissions: [] };
    const failure = await leavingNothing(() =>
      failureOf(applications.createApplication({ name: "", type: "admin", rules: [rule] })),
    );
    expectRefusal(
      failure,
      "validation_failed",
      expect.arrayContaining(["name", "type", "rules[0].priority", "rules[0].transform"]),
    );
  });

  it("in a tokenize request of 101 values stores nothing", async () => {
    const tokenize = rpcClient(TokenizeService, protocol, { key: backEnd.key });
    const many = toValue(Array.from({ length: 101 }, (_, index) => index));
    expectRefusal(await leavingNothing(() => failureOf(tokenize.tokenize({ value: many }))), "validation_failed", [
      "value",
    ]);
    const one = toValue({ good: ["x"], bad: { type: "card", data: { number: "1" } } });
    expectRefusal(await leavingNothing(() => failureOf(tokenize.tokenize({ value: one }))), "validation_failed", [
      "value.bad.data.number",
    ]);
    expectRefusal(await leavingNothing(() => failureOf(tokenize.tokenize({}))), "validation_failed", ["value"]);
  });

  it("may nest 64 levels, and not 65", async () => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    const { id } = await tokens.createToken({ type: "token", data: nested(64) });
    expect((await tokens.getToken({ id })).data).toEqual(nested(64));
    const failure = await leavingNothing(() => failureOf(tokens.createToken({ type: "token", data: nested(65) })));
    expect(failure).toMatchObject({ code: "InvalidArgument" });
    expect(failure.fields).toHaveLength(1);
  });

  it("is rejected as too large, and the connection stays usable", async () => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    const large = { type: "token", data: toValue("x".repeat(6 * 1024 * 1024)) };
    const failure = await leavingNothing(() => failureOf(tokens.createToken(large)));
    expect(failure).toMatchObject({ code: "ResourceExhausted", reason: "body_too_large" });
    expect(await tokens.createToken({ type: "token", data: toValue("small") })).toMatchObject({ type: "token" });
    expect(await failureOf(tokens.createToken(large))).toMatchObject({
      code: "ResourceExhausted",
      reason: "body_too_large",
    });
    expect(await tokens.createToken({ type: "token", data: toValue("small") })).toMatchObject({ type: "token" });
  });
});

describe.each(BINARY_ENCODINGS)("over %s", (encoding) => {
  const send = (draft: Draft) =>
    rpcRefusal(encoding, toBinary(CreateTokenRequestSchema, create(CreateTokenRequestSchema, draft)));

  it.each<[string, Value, string]>([
    ["NaN", number(Number.NaN), "data"],
    ["infinity", list(number(1), number(Number.POSITIVE_INFINITY)), "data[1]"],
    ["a value without a kind", value({ case: undefined }), "data"],
    ["such a value deep within", list(list(), list(value({ case: undefined }))), "data[1][0]"],
  ])("%s is rejected, and its position named", async (_, data, field) => {
    expectRefusal(await leavingNothing(() => send({ type: "token", data })), "validation_failed", [field]);
  });

  it.each([
    ["bytes that are not a message", Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ["a message that is cut off", Buffer.from([0x12, 0x7f, 0x61])],
    ["a text that is not UTF-8", Buffer.from([0x12, 0x02, 0xc3, 0x28])],
    ["a field of another wire type", Buffer.from([0x10, 0x01])],
    ["a group that never ends", Buffer.from([0x0b])],
  ])("%s is rejected as the caller's fault, not the server's", async (_, bytes) => {
    const failure = await leavingNothing(() => rpcRefusal(encoding, bytes));
    expect(failure).toMatchObject({ code: "InvalidArgument" });
    expect(["malformed_body", "validation_failed"]).toContain(failure.reason);
    expect(failure.fields.length).toBeGreaterThan(0);
  });

  it("unlimited nesting is rejected", async () => {
    let bytes = Buffer.from([0x32, 0x00]);
    for (let depth = 0; depth < 2_000; depth += 1) {
      const item = Buffer.concat([Buffer.from([0x0a]), varint(bytes.length), bytes]);
      bytes = Buffer.concat([Buffer.from([0x32]), varint(item.length), item]);
    }
    const message = Buffer.concat([
      Buffer.from([0x12, 0x05]),
      Buffer.from("token"),
      Buffer.from([0x22]),
      varint(bytes.length),
      bytes,
    ]);
    expect(await leavingNothing(() => rpcRefusal(encoding, message))).toMatchObject({ code: "InvalidArgument" });
  });

  it("unknown fields are ignored", async () => {
    const draft = toBinary(
      CreateTokenRequestSchema,
      create(CreateTokenRequestSchema, { type: "token", data: toValue(1) }),
    );
    const unknown = Buffer.from([0xfa, 0x3e, 0x03, 0x61, 0x62, 0x63]);
    expect(await sendMessage(encoding, CREATE, Buffer.concat([draft, unknown]), { key: backEnd.key })).toBeUndefined();
  });
});

describe.each(JSON_ENCODINGS)("over %s", (encoding) => {
  it("every value of a wrong type is named", async () => {
    const message = {
      ...{ type: 1, data: "x", mask: { a: 1 }, containers: ["/a/", 2, null], metadata: { a: "b", c: 3 } },
      ...{ deduplicateToken: "yes", expires_at: {}, searchIndexes: "{{ data }}" },
    };
    const failure = await leavingNothing(() => rpcRefusal(encoding, JSON.stringify(message)));
    expectRefusal(failure, "validation_failed", [
      ...["type", "containers[1]", "containers[2]", "metadata.c"],
      ...["deduplicate_token", "expires_at", "search_indexes"],
    ]);
    expect(failure.message).toBe("type must be a string (1 of 7 problems)");
  });

  it("a value of a wrong type is named by its whole path", async () => {
    const rules = [{ priority: 1 }, { priority: "one", permissions: [true] }, "rule"];
    const error = await sendMessage(
      encoding,
      "cloakroom.v1.ApplicationService/CreateApplication",
      JSON.stringify({ name: "A", rules }),
      { key: tenant.managementKey },
    );
    if (!error) throw new Error("the call was served");
    expectRefusal(failureIn(error), "validation_failed", ["rules[1].priority", "rules[1].permissions[0]", "rules[2]"]);
  });

  it.each([
    ["is cut off", '{"type":"token","data":', "malformed_body", ["body"]],
    ["is empty", "", "malformed_body", ["body"]],
    ["has a bare NaN", '{"type":"token","data":NaN}', "malformed_body", ["body"]],
    ["is not UTF-8", Buffer.from('{"type":"token","data":"\xff"}', "latin1"), "malformed_body", ["body"]],
    ["is a list", "[]", "malformed_body", ["body"]],
    ["nests 65 levels in a field", `{"type":"token","data":${nestedText(65)}}`, "malformed_body", ["body"]],
    ["nests a hundred thousand levels", `{"type":"token","data":${nestedText(100_000)}}`, "malformed_body", ["body"]],
    ["has a field of another type", '{"type":4242424242424242,"data":1}', "validation_failed", ["type"]],
    ["has a list of another type", '{"type":"token","data":1,"containers":"/a/"}', "validation_failed", ["containers"]],
    [
      "has half a surrogate pair in a field",
      '{"type":"token","data":1,"id":"abc\\ud800"}',
      "validation_failed",
      ["id"],
    ],
    [
      "has half a surrogate pair in a name and a wrong value",
      '{"type":"token","data":1,"metadata":{"\\ud800":1}}',
      "validation_failed",
      ["metadata.\ufffd"],
    ],
    ["has half a surrogate pair in its data", '{"type":"token","data":["\\ud800"]}', "validation_failed", ["data[0]"]],
    [
      "has a number with more digits than a double keeps",
      '{"type":"token","data":4111111111111111111}',
      "validation_failed",
      ["data"],
    ],
    [
      "has such a number deep within",
      '{"type":"token","data":{"a":[9007199254740993]}}',
      "validation_failed",
      ["data.a[0]"],
    ],
    ["has an infinite number", '{"type":"token","data":1e400}', "validation_failed", ["data"]],
  ])("a message that %s is rejected", async (_, message, reason, fields) => {
    const failure = await leavingNothing(() => rpcRefusal(encoding, message));
    expectRefusal(failure, reason, fields);
  });

  it("no part of a message is quoted", async () => {
    for (const message of [
      '{"data":"4242424242424242"',
      '{"type":4242424242424242}',
      '{"data":4242424242424242x}',
      '{"4242424242424242":}',
    ]) {
      expect(JSON.stringify(await rpcRefusal(encoding, message))).not.toContain("4242");
    }
  });

  it("unknown fields and members called __proto__ are ignored", async () => {
    const message = '{"type":"token","id":"proto-%s","data":{"__proto__":{"a":1}},"unknown":[1]}'.replace(
      "%s",
      encoding.replace(" ", "-"),
    );
    expect(await sendMessage(encoding, CREATE, message, { key: backEnd.key })).toBeUndefined();
    const { body } = await backEnd("GET", `/tokens/proto-${encoding.replace(" ", "-")}`);
    expect(JSON.stringify(body.data)).toBe('{"__proto__":{"a":1}}');
  });
});

describe("the framing of a message", () => {
  const message = toBinary(
    CreateTokenRequestSchema,
    create(CreateTokenRequestSchema, { type: "token", data: toValue(1) }),
  );
  const framedEncodings = BINARY_ENCODINGS.filter((encoding) => encoding !== "Connect binary");

  it.each(framedEncodings)("over %s must be complete", async (encoding) => {
    for (const framed of [Buffer.from([0, 0, 0]), Buffer.from(encodeEnvelope(0, message)).subarray(0, 8)]) {
      const failure = await leavingNothing(() => rpcRefusal(encoding, framed, { framed: true }));
      expectRefusal(failure, "malformed_body", ["body"]);
    }
  });

  it.each(framedEncodings)("over %s must contain one message, or fails with gRPC's own code", async (encoding) => {
    const once = Buffer.from(encodeEnvelope(0, message));
    for (const framed of [Buffer.alloc(0), Buffer.concat([once, once])]) {
      const failure = await leavingNothing(() => rpcRefusal(encoding, framed, { framed: true }));
      expect(failure).toMatchObject({ code: "Unimplemented" });
    }
  });

  it.each(framedEncodings)("over %s must announce its compression", async (encoding) => {
    const framed = Buffer.from(encodeEnvelope(1, message));
    const failure = await leavingNothing(() => rpcRefusal(encoding, framed, { framed: true }));
    expectRefusal(failure, "malformed_body", ["body"]);
  });

  it.each([
    ["Connect JSON", "content-encoding"],
    ["gRPC binary", "grpc-encoding"],
    ["gRPC-Web binary", "grpc-encoding"],
  ] as const)("over %s is rejected in an unknown compression", async (encoding, header) => {
    const failure = await leavingNothing(() => rpcRefusal(encoding, message, { headers: { [header]: "zstd" } }));
    expect(failure).toMatchObject({ code: "Unimplemented" });
  });

  it("is rejected if it claims to be compressed and is not", async () => {
    const failure = await leavingNothing(() =>
      rpcRefusal("Connect JSON", "{}", { headers: { "content-encoding": "gzip" } }),
    );
    expectRefusal(failure, "malformed_body", ["body"]);
  });
});

it.each(ENCODINGS)("over %s a reactor call is rejected above its limit of a megabyte", async (encoding) => {
  const draft = { id: "3b4a7f0e-6a1d-4f3a-9d57-0c8a2e6b1f44", args: toValue("x".repeat(1_100_000)) };
  const message = create(ReactRequestSchema, draft);
  const bytes = encoding.endsWith("JSON")
    ? toJsonString(ReactRequestSchema, message)
    : toBinary(ReactRequestSchema, message);
  const error = await sendMessage(encoding, "cloakroom.v1.ReactorService/React", bytes, { key: backEnd.key });
  expect(error && failureIn(error)).toMatchObject({ code: "ResourceExhausted", reason: "body_too_large" });
  expect(error?.rawMessage).toContain("1048576 bytes");
});

describe("a deadline", () => {
  it.each(ENCODINGS)("over %s may be longer than the server's own", async (encoding) => {
    const headers = encoding.startsWith("Connect") ? { "connect-timeout-ms": "600000" } : { "grpc-timeout": "10M" };
    const isJson = encoding.endsWith("JSON");
    const draft = create(CreateTokenRequestSchema, { type: "token", data: toValue(1) });
    const message = isJson ? '{"type":"token","data":1}' : toBinary(CreateTokenRequestSchema, draft);
    expect(await sendMessage(encoding, CREATE, message, { key: backEnd.key, headers })).toBeUndefined();
  });

  it.each(ENCODINGS)("over %s is rejected by the name of its header if it is malformed", async (encoding) => {
    const header = encoding.startsWith("Connect") ? "connect-timeout-ms" : "grpc-timeout";
    for (const text of ["soon", "", "1.5", "-1", "99999999999", "5S, 5S"]) {
      const failure = await rpcRefusal(encoding, "{}", { headers: { [header]: text } });
      expectRefusal(failure, "validation_failed", [header]);
    }
  });
});

function varint(length: number): Buffer {
  const bytes: number[] = [];
  let rest = length;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

describe.each(ENCODINGS.filter((encoding) => encoding.endsWith("JSON")))("over %s a long error", (encoding) => {
  it("arrives complete at a caller that accepts compressed responses", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `a${index}`);
    const data = names.map((name) => `"${name}":4111111111111111111`).join();
    const failure = await rpcRefusal(encoding, `{"type":"token","data":{${data}}}`, {
      headers: {
        // Connect's handlers serve it because of its parameter.
        ...(encoding === "Connect JSON" ? { "content-type": "application/json; charset=utf-8" } : {}),
        ...{ "accept-encoding": "gzip", "grpc-accept-encoding": "gzip" },
      },
    });
    expectRefusal(
      failure,
      "validation_failed",
      names.map((name) => `data.${name}`),
    );
  });
});
