// Computes: 25 s
import { gzipSync } from "node:zlib";
import { create, type DescMessage, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CreateTokenRequestSchema,
  DetokenizeRequestSchema,
  TokenizeRequestSchema,
} from "../../../gen/cloakroom/v1/tokens_pb.js";
import type { Json } from "../../../src/base/json.js";
import { MAX_NAMES, MAX_VALUES } from "../../../src/base/json-structure.js";
import { toValue } from "../../../src/services/value.js";
import { ServerCounters } from "../../support/counters.js";
import type { RestClient, RestResponse } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, newTenant, type TestTenant } from "../../support/tenant.js";
import { startDestination } from "../proxy/support/destination.js";

/** The largest body, less its frame. */
const SIZE = 5_200_000;
/**
 * For how many calls of JSON.parse with the largest body, here in the test and at the same moment, one request and a probe
 * may block the event loop. Most of the longest turns take 25 ms of processor time, and one 50, where such a call takes 27
 * to 42; 3,300 before bodies were bounded.
 */
const MAX_HOLD_PARSES = 2.5;
/** The largest size of an error response. */
const MAX_RESPONSE_BYTES = 16 * 1024;
/** Of the whole process, after all of these bodies. */
const MAX_MEMORY_MB = 600;

let server: ServerProcess;
let counters: ServerCounters;
let tenant: TestTenant;
let client: RestClient & { readonly key: string };
/** A client that is not involved. */
let other: RestClient;
/** The least {@link parseTime} so far. */
let leastParse: number;
beforeAll(async () => {
  leastParse = parseTime();
  server = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" });
  counters = new ServerCounters(server);
  tenant = await firstTenant(server);
  client = await tenant.backEnd();
  other = await (await newTenant(server.url, { ...server.environment })).backEnd();
  // Compilation at first use does not count against a request.
  for (let round = 0; round < 3; round += 1) {
    await client("POST", "/tokens", {
      body: { type: "token", data: Array.from({ length: 20_000 }, () => ({ a: 1 })) },
    });
    await probe();
  }
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function probe(): Promise<void> {
  const { status } = await other("POST", "/tokens", { body: { type: "token", data: "a value" } });
  expect(status).toBe(201);
}

const times = (text: string, count: number) => Array.from({ length: count }, () => text).join(",");
/** As many of them as fit into a body. */
const filled = (text: string) => times(text, Math.floor(SIZE / (text.length + 1)) - 20);
const names = (count: number, value = "1") =>
  Array.from({ length: count }, (_, index) => `"k${index}":${value}`).join(",");
const token = (data: string) => `{"type":"token","data":${data}}`;

/** Milliseconds of processor time that JSON.parse takes for a body of numbers: the least of five. */
function parseTime(): number {
  const body = `[${filled("1")}]`;
  const times = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(body);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}

/**
 * A hold in calls of JSON.parse. Processors that are shared take more time for the same work than they do alone, so a long
 * hold is compared with a call that is made right after it.
 */
function inParses(hold: number): number {
  if (hold < MAX_HOLD_PARSES * leastParse) return hold / leastParse;
  const now = parseTime();
  leastParse = Math.min(leastParse, now);
  return hold / now;
}

/**
 * Sends one body next to another tenant's probe, and measures its effect on the process. Other work of the machine only
 * adds to the processor time of a turn, so the least of up to five is that of the body.
 */
async function attack(send: () => Promise<RestResponse>): Promise<RestResponse> {
  const holds: number[] = [];
  let response: RestResponse;
  do {
    await counters.longestHold();
    [response] = await Promise.all([send(), probe()]);
    holds.push(inParses(await counters.longestHold()));
  } while (Math.min(...holds) >= MAX_HOLD_PARSES && holds.length < 5);
  expect(Math.min(...holds)).toBeLessThan(MAX_HOLD_PARSES);
  expect(response.status).toBeLessThan(500);
  if (response.status >= 400) expect(JSON.stringify(response.body).length).toBeLessThan(MAX_RESPONSE_BYTES);
  return response;
}

const WIDE: readonly (readonly [string, string])[] = [
  ["2.6 million numbers", `[${filled("1")}]`],
  ["1.7 million empty objects", `[${filled("{}")}]`],
  ["1.7 million empty texts", `[${filled('""')}]`],
  ["a million nulls", `[${filled("null")}]`],
  ["400,000 members of one object", `{${names(400_000)}}`],
  [
    "50,000 different names in as many objects",
    `[${Array.from({ length: 50_000 }, (_, n) => `{"k${n}":1}`).join(",")}]`,
  ],
  ["the same name 800,000 times", `{${filled('"a":1')}}`],
  ["deep arrays, side by side", `[${filled(`${"[".repeat(50)}${"]".repeat(50)}`)}]`],
  ["leaves below a name of 100 KB", `{"${"k".repeat(100_000)}":[${filled("1").slice(0, 5_000_000 - 1)}1]}`],
  ["numbers that must be looked at twice", `[${filled("1234567890.123456")}]`],
  ["numbers that no double keeps", `[${filled("1234567890123456789")}]`],
];

describe("a body of too many values is rejected at once", () => {
  /** All of them count with one reader: each shape goes to one of them, and the first also to the others. */
  const paths = ["/tokens", "/tokenize", "/detokenize"] as const;
  const sent = WIDE.flatMap(([name, json], index) =>
    paths.filter((_, at) => index === 0 || at === index % paths.length).map((path) => [name, path, json] as const),
  );
  it.each(sent)("%s, at %s", async (_, path, json) => {
    const raw = path === "/tokens" ? token(json) : json;
    const { status, body } = await attack(() => client("POST", path, { raw }));
    expect(status).toBe(400);
    expect(body.errors.body[0]).toMatch(/must hold at most (?:50000 values|10000 different field names)/);
  });

  const fields: readonly (readonly [string, string, string, string])[] = [
    ["containers", "POST", "/tokens", `{"type":"token","data":1,"containers":[${filled("1")}]}`],
    ["search indexes", "POST", "/tokens", `{"type":"token","data":1,"search_indexes":[${filled('""')}]}`],
    ["metadata", "POST", "/tokens", `{"type":"token","data":1,"metadata":{${names(300_000)}}}`],
    ["a mask", "POST", "/tokens", `{"type":"token","data":1,"mask":{${names(300_000)}}}`],
    ["fields that are not known", "POST", "/tokens", `{"type":"token","data":1,${names(400_000)}}`],
    ["fields of a card", "POST", "/tokens", `{"type":"card","data":{${names(400_000)}}}`],
    ["a patch", "PATCH", "/tokens/none", `{"data":{${names(400_000)}}}`],
    ["rules", "POST", "/applications", `{"name":"x","type":"private","rules":[${filled("{}")}]}`],
    ["permissions", "POST", "/applications", `{"name":"x","type":"private","permissions":[${filled('"a"')}]}`],
    ["transforms", "POST", "/proxies", `{"name":"x","request_transforms":[${filled("{}")}]}`],
    ["a configuration", "POST", "/proxies", `{"name":"x","configuration":{${names(300_000, '"1"')}}}`],
    ["parameters of a formula", "POST", "/reactor-formulas", `{"name":"x","request_parameters":[${filled("{}")}]}`],
  ];
  it.each(fields)("%s", async (_, method, path, raw) => {
    const headers: Record<string, string> =
      method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
    const key = path.startsWith("/tokens") ? client.key : tenant.managementKey;
    const { status, body } = await attack(() => client(method, path, { raw, headers, key }));
    expect(status).toBe(400);
    expect(body.errors.body[0]).toContain("must hold at most");
  });

  it("in all protocols", async () => {
    const numbers = toValue(Array.from({ length: MAX_VALUES + 1 }, () => 1));
    const struct = toValue(Object.fromEntries(Array.from({ length: MAX_NAMES + 1 }, (_, index) => [`k${index}`, 1])));
    for (const data of [numbers, struct]) {
      const message = create(CreateTokenRequestSchema, { type: "token", data });
      for (const binary of [true, false]) {
        const { status, body } = await attack(() =>
          call("TokenService/CreateToken", CreateTokenRequestSchema, message, binary),
        );
        expect([status, body.code]).toEqual([400, "invalid_argument"]);
        expect(body.message).toContain("must hold at most");
      }
    }
  });
});

it("a repeated name is refused over Connect in a message of any size", async () => {
  for (const size of [10, 2_000_000]) {
    const member = `"data":"${"x".repeat(size)}"`;
    const send = (body: string) =>
      fetch(`${server.url}/cloakroom.v1.TokenService/CreateToken`, {
        method: "POST",
        headers: { "bt-api-key": client.key, "content-type": "application/json" },
        body,
      });
    for (const repeated of [
      `{"type":"token",${member},"type":"token"}`,
      `{"type":"token","data":[{"a":1,"a":2},{${member}}]}`,
    ]) {
      const refused = await send(repeated);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ message: "The body must be a valid message." });
    }
    expect((await send(`{"type":"token",${member}}`)).status).toBe(200);
  }
});

/** Calls a method over Connect. */
async function call(method: string, schema: DescMessage, message: Message, binary: boolean): Promise<RestResponse> {
  const payload = binary ? toBinary(schema, message) : Buffer.from(toJsonString(schema, message));
  const response = await fetch(`${server.url}/cloakroom.v1.${method}`, {
    method: "POST",
    headers: { "bt-api-key": client.key, "content-type": `application/${binary ? "proto" : "json"}` },
    body: new Uint8Array(payload),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type") === "application/json";
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

describe("a body within the limits is served, and does not delay other callers", () => {
  const rows = Array.from({ length: 9_000 }, (_, id) => ({ id, name: `name ${id}`, amount: 1.5, isPaid: true }));
  const shapes: readonly (readonly [string, Json])[] = [
    ["a text of 5 MB", "x".repeat(SIZE)],
    ["a text of 5 MB in other letters", "ä".repeat(SIZE / 2)],
    ["a text of 5 MB in quotes", '"'.repeat(SIZE / 2)],
    ["a text of braces", "{{".repeat(SIZE / 2)],
    ["as many numbers as may be", Array.from({ length: MAX_VALUES - 10 }, () => 1)],
    ["as many names as may be", Object.fromEntries(Array.from({ length: MAX_NAMES - 10 }, (_, n) => [`k${n}`, 1]))],
    [
      "as many names as may be, in as many objects",
      Array.from({ length: MAX_NAMES - 10 }, (_, n) => ({ [`k${n}`]: 1 })),
    ],
    ["long names", Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`${n}`.padEnd(500, "k"), 1]))],
    ["9,000 rows of a table", rows],
    [
      "objects of pairs of names",
      Array.from({ length: 16_000 }, (_, n) => ({ [`a${n % 130}`]: 1, [`b${n % 127}`]: 1 })),
    ],
    ["numbers with an exponent", Array.from({ length: MAX_VALUES - 10 }, (_, n) => n * 1e-7)],
  ];
  it.each(shapes.map(([name, data], index) => [name, data, index] as const))("%s", async (_, data, index) => {
    // Both paths share a reader.
    const isCreated = index % 2 === 0;
    const sent = () =>
      isCreated
        ? client("POST", "/tokens", { body: { type: "token", data } })
        : client("POST", "/detokenize", { body: data });
    expect((await attack(sent)).status).toBe(isCreated ? 201 : 200);
    const request = create(CreateTokenRequestSchema, { type: "token", data: toValue(data) });
    for (const binary of [true, false]) {
      const create = () => call("TokenService/CreateToken", CreateTokenRequestSchema, request, binary);
      expect((await attack(create)).status).toBe(200);
    }
  });

  // Each form is met by two or more shapes, and each shape by two forms.
  it.each(shapes.slice(0, 9).map(([name, data], index) => [name, data, index] as const))(
    "%s, in calls that the fast path does not serve",
    async (_, data, index) => {
      const request = create(CreateTokenRequestSchema, { type: "token", data: toValue(data) });
      const binary = toBinary(CreateTokenRequestSchema, request);
      const json = Buffer.from(toJsonString(CreateTokenRequestSchema, request));
      const forms: readonly (readonly [Uint8Array, Record<string, string>])[] = [
        [gzipSync(binary), { "content-type": "application/proto", "content-encoding": "gzip" }],
        [gzipSync(json), { "content-type": "application/json", "content-encoding": "gzip" }],
        [json, { "content-type": "application/json; charset=utf-8" }],
        [
          encodeEnvelope(1, gzipSync(binary)),
          { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" },
        ],
        [encodeEnvelope(0, binary), { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" }],
        [encodeEnvelope(0, json), { "content-type": "application/grpc-web+json" }],
      ];
      for (const [body, headers] of forms.filter((_, at) => at % 3 === index % 3)) {
        const response = await attack(() => send(headers, body));
        const isWeb = headers["content-type"]?.includes("grpc-web");
        expect([response.status, isWeb ? /grpc-status: ?0/.test(response.body) : true]).toEqual([200, true]);
        expect(response.body).toContain(tenant.id);
      }
    },
  );
});

describe("a large message that the fast path does not serve", () => {
  const token = create(CreateTokenRequestSchema, { type: "token", data: toValue("x".repeat(100_000)) });
  const message = toBinary(CreateTokenRequestSchema, token);
  const web = { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" };

  it.each<[string, Uint8Array]>([
    ["plain", encodeEnvelope(0, message)],
    ["compressed", encodeEnvelope(1, gzipSync(message))],
  ])("is refused if another one follows: %s", async (_, frame) => {
    const { body } = await send(web, Buffer.concat([frame, encodeEnvelope(0, Buffer.from([]))]));
    expect(body).toMatch(/grpc-status: ?12/);
  });

  it("is refused if it cannot be read, as one is that the fast path serves", async () => {
    const broken = message.slice(0, -1);
    const plain = await send({ "content-type": "application/proto" }, broken);
    expect([plain.status, JSON.parse(plain.body)]).toMatchObject([
      400,
      { message: "The body must be a valid message." },
    ]);
    const packed = { "content-type": "application/proto", "content-encoding": "gzip" };
    const compressed = await send(packed, gzipSync(broken));
    expect([compressed.status, JSON.parse(compressed.body).message]).toEqual([400, JSON.parse(plain.body).message]);
    expect((await send(web, encodeEnvelope(0, broken))).body).toMatch(/grpc-status: ?3/);
    expect((await send(web, encodeEnvelope(1, gzipSync(broken)))).body).toMatch(/grpc-status: ?3/);
  });
});

/** Creates a token by a call over RPC. Returns the response as text. */
async function send(headers: Record<string, string>, body: Uint8Array): Promise<RestResponse> {
  const response = await fetch(`${server.url}/cloakroom.v1.TokenService/CreateToken`, {
    ...{ method: "POST", headers: { "bt-api-key": client.key, ...headers } },
    body: new Uint8Array(body),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

describe("texts that are not, or barely, JSON", () => {
  const texts: readonly (readonly [string, string | Uint8Array<ArrayBuffer>])[] = [
    ["opening brackets", "[".repeat(SIZE)],
    ["quotes", '"'.repeat(SIZE)],
    ["backslashes", `"${"\\".repeat(SIZE)}`],
    ["quotes after backslashes", '"\\'.repeat(SIZE / 2)],
    ["blanks", " ".repeat(SIZE)],
    ["commas", ",".repeat(SIZE)],
    ["bytes that are not UTF-8", new Uint8Array(SIZE).fill(0xff)],
    ["one number of 5 million digits", token("1".repeat(SIZE - 50))],
    ["one number of 5 million decimals", token(`0.${"0".repeat(SIZE - 50)}1`)],
  ];
  it.each(texts)("%s", async (_, raw) => {
    expect((await attack(() => client("POST", "/tokens", { raw }))).status).toBe(400);
  });

  it("are parsed if they are JSON, however they are escaped", async () => {
    const raw = token(`"${"\\u00e4".repeat(SIZE / 6 - 10)}"`);
    expect((await attack(() => client("POST", "/tokens", { raw }))).status).toBe(201);
  });
});

describe("up to a hundred faults are listed", () => {
  it.each<[string, string, string]>([
    ["/tokens", "metadata", `{"type":"token","data":1,"metadata":{${names(50)}}}`],
    ["/tokens", "data", `{"type":"card","data":{${names(9_000)}}}`],
    ["/tokenize", "value", `[${times('{"type":"token","data":1,"containers":[1,2,3]}', 101)}]`],
    ["/tokenize", "metadata", `[{"type":"token","data":1,"metadata":{${names(9_000)}}}]`],
    [
      "/applications",
      "rules",
      `{"name":"x","type":"private","rules":[${times('{"permissions":["a","b","c"]}', 100)}]}`,
    ],
    ["/tokens", "number", token(`[${times("1234567890123456789", 40_000)}]`)],
    ["/tokens", "long", token(`{"${"k".repeat(5_000_000)}":1e999}`)],
    ["/tokens", "long name's", token(`{"${"k".repeat(4_700_000)}":[${times("1e999", 49_000)}]}`)],
    ["/tokens", "escaped name's", token(`{"${"\\u00e4".repeat(780_000)}":[${times("1e999", 49_000)}]}`)],
    ["/tokens", "containers beside data", `{"type":"token","data":[${times("1", 49_000)}],"containers":["x"]}`],
    ["/tokens", "misspelt", `{"type":"token","data":1,"metadata":1,${names(9_900)}}`],
    ["/tokenize", "misspelt", `[${times(`{"type":"token","data":1,"metadatas":{},${names(90)}}`, 100)}]`],
  ])("at %s, of %s", async (path, _, raw) => {
    const key = path === "/applications" ? tenant.managementKey : client.key;
    const { status, body } = await attack(() => client("POST", path, { raw, key }));
    expect(status).toBe(400);
    const told = Object.values(body.errors).flat();
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(100);
  });

  it("over RPC too, for a list of thousands next to much data", async () => {
    const data = toValue(Array.from({ length: 9_000 }, () => 1));
    for (const path of ["x", "/a/"]) {
      const containers = Array.from({ length: 40_000 }, () => path);
      const message = create(CreateTokenRequestSchema, { type: "token", data, containers });
      for (const binary of [true, false]) {
        const made = () => call("TokenService/CreateToken", CreateTokenRequestSchema, message, binary);
        expect((await attack(made)).status).toBe(400);
      }
    }
  });

  it("over RPC too", async () => {
    const value = toValue(Array.from({ length: 101 }, () => ({ type: "token", data: 1, containers: [1, 2, 3] })));
    for (const binary of [true, false]) {
      const message = create(TokenizeRequestSchema, { value });
      const { status } = await attack(() => call("TokenizeService/Tokenize", TokenizeRequestSchema, message, binary));
      expect(status).toBe(400);
    }
  });
});

describe("a text of 5 MB", () => {
  const long = "x".repeat(5_000_000);
  it.each<[field: string, path: string, body: object, limit: number]>([
    ["id", "/tokens", { type: "token", data: 1, id: long }, 4_096],
    ["expires_at", "/tokens", { type: "token", data: 1, expires_at: long }, 100],
    ["metadata.a", "/tokens", { type: "token", data: 1, metadata: { a: long } }, 1_000],
    ["search_indexes[0]", "/tokens", { type: "token", data: 1, search_indexes: [long] }, 4_096],
    ["name", "/applications", { type: "private", name: long, permissions: ["token:read"] }, 200],
  ])("is refused as %s, at %s", async (field, path, body, limit) => {
    const key = path === "/applications" ? tenant.managementKey : client.key;
    const refused = await attack(() => client("POST", path, { key, body }));
    expect([refused.status, refused.body.errors]).toEqual([400, { [field]: [`must be at most ${limit} characters`] }]);
  });
});

describe("a proxied body", () => {
  it.each<[type: string, what: string, piece: string]>([
    ["application/xml", "ampersands", "&"],
    ["application/xml", "character references", "&#123;"],
    ["application/json", "escaped braces", "\\u007b"],
    ["application/json5", "empty texts", '""'],
    ["application/json5", "escapes", '"\\'],
    ["application/x-www-form-urlencoded", "percent signs", "%"],
    ["multipart/form-data; boundary=b", "parts", "--b\r\n\r\n"],
  ])("%s of %s does not delay other callers", async (type, _, piece) => {
    await using destination = await startDestination();
    const headers = { "content-type": type, "bt-proxy-url": destination.url };
    const raw = piece.repeat(SIZE / piece.length);
    await attack(() => client("POST", "/proxy/x", { raw, headers }));
  });
});

describe("frames of gRPC-Web", () => {
  it.each([
    ["application/grpc-web-text", "pieces of base64", Buffer.from("AA==".repeat(SIZE / 4))],
    ["application/grpc-web-text", "paddings", Buffer.from(`A${"=".repeat(SIZE)}`)],
    ["application/grpc-web+proto", "trailers", Buffer.alloc(SIZE, Buffer.from([0x80, 0, 0, 0, 0]))],
    ["application/grpc-web+proto", "compressed trailers", Buffer.alloc(SIZE, Buffer.from([0x81, 0, 0, 0, 0]))],
  ])("%s of millions of %s do not delay other callers", async (type, _, body) => {
    const send = async (): Promise<RestResponse> => {
      const headers = { "bt-api-key": client.key, "content-type": type };
      const url = `${server.url}/cloakroom.v1.TokenService/CreateToken`;
      const response = await fetch(url, { method: "POST", headers, body: new Uint8Array(body) });
      return { status: response.status, headers: response.headers, body: await response.text() };
    };
    const { body: received } = await attack(send);
    expect(type.includes("text") ? Buffer.from(received, "base64").toString() : received).toMatch(
      /grpc-status: (?:3|12)/,
    );
  });
});

describe("a large token that is referenced many times", () => {
  it("is rejected before the response has grown", async () => {
    const { body: made } = await client("POST", "/tokens", { body: { type: "token", data: "x".repeat(5_000_000) } });
    const references = Array.from({ length: 2_000 }, () => `{{ ${made.id} }}`);
    const { status } = await attack(() => client("POST", "/detokenize", { body: references }));
    expect(status).toBe(400);
    const message = create(DetokenizeRequestSchema, { value: toValue(references) });
    const over = await attack(() => call("TokenizeService/Detokenize", DetokenizeRequestSchema, message, true));
    expect(over.status).toBe(400);
  });
});

describe("queries", () => {
  it("with thousands of metadata parameters do not delay other callers", async () => {
    const parameters = Array.from({ length: 2_500 }, (_, index) => `metadata.k${index}=v`)
      .join("&")
      .slice(0, 31_000);
    for (const path of ["/tokens", "/v2/tokens"]) {
      expect((await attack(() => client("GET", `${path}?${parameters}`))).status).toBe(400);
    }
  });
});

it("the process stays within its memory limit", () => {
  expect(counters.peakMemory()).toBeLessThan(MAX_MEMORY_MB);
});
