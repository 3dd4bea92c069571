import { connect } from "node:http2";
import { createConnection } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RestClient, RestRequest, RestResponse } from "../../support/rest.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";

const MEGABYTE = 1024 * 1024;
const LIMIT = 5 * MEGABYTE;

let tenant: TestTenant;
let backEnd: RestClient & { readonly key: string };
let stored: Stored;
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  stored = await openStored();
});
afterAll(() => stored[Symbol.asyncDispose]());

/** Runs requests that must leave no trace: no token, no application, no log row. */
async function leavingNothing<T>(act: () => Promise<T>): Promise<T> {
  const before = await stored.counts(tenant.id);
  const result = await act();
  expect(await stored.counts(tenant.id)).toEqual(before);
  return result;
}

const brief = ({ status, body }: RestResponse) => ({ status, code: body.code, fields: Object.keys(body.errors ?? {}) });
const token = (data: string) => `{"type":"token","data":${data}}`;
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const type = (contentType: string) => ({ "content-type": contentType });

describe("a REST body that cannot be parsed", () => {
  it.each<[string, RestRequest, number, string, string[]]>([
    ["is cut off", { raw: '{"type":"token","data":' }, 400, "malformed_body", ["body"]],
    ["has a trailing comma", { raw: '{"type":"token","data":1,}' }, 400, "malformed_body", ["body"]],
    ["is followed by something", { raw: `${token("1")} true` }, 400, "malformed_body", ["body"]],
    ["has single quotes", { raw: "{'type':'token'}" }, 400, "malformed_body", ["body"]],
    ["has a bare NaN", { raw: token("NaN") }, 400, "malformed_body", ["body"]],
    ["has a bare Infinity", { raw: token("-Infinity") }, 400, "malformed_body", ["body"]],
    ["has a raw NUL", { raw: token('"a\u0000b"') }, 400, "malformed_body", ["body"]],
    ["is not UTF-8", { raw: Buffer.from(token('"\xff"'), "latin1") }, 400, "malformed_body", ["body"]],
    ["nests 65 levels in a field", { raw: token(nested(65)) }, 400, "malformed_body", ["body"]],
    ["nests a hundred thousand levels", { raw: token(nested(100_000)) }, 400, "malformed_body", ["body"]],
    ["nests that many levels and never ends", { raw: "[".repeat(100_000) }, 400, "malformed_body", ["body"]],
    [
      "is a form",
      { raw: "type=token&data=1", headers: type("application/x-www-form-urlencoded") },
      400,
      "malformed_body",
      ["body"],
    ],
    [
      "is JSON called a form",
      { raw: token("1"), headers: type("application/x-www-form-urlencoded") },
      400,
      "malformed_body",
      ["body"],
    ],
    ["is called text", { raw: token("1"), headers: type("text/plain") }, 415, "unsupported_media_type", []],
    ["is called XML", { raw: token("1"), headers: type("application/xml") }, 415, "unsupported_media_type", []],
    ["is called protobuf", { raw: token("1"), headers: type("application/proto") }, 415, "unsupported_media_type", []],
    [
      "is called something other than a type",
      { raw: token("1"), headers: type("json") },
      415,
      "unsupported_media_type",
      [],
    ],
    ["is called nothing", { raw: Buffer.from(token("1")), headers: type("") }, 415, "unsupported_media_type", []],
    ["is compressed", { raw: token("1"), headers: { "content-encoding": "gzip" } }, 415, "unsupported_media_type", []],
    ["is too large", { raw: token(`"${"x".repeat(LIMIT)}"`) }, 413, "body_too_large", []],
  ])("because it %s", async (_, request, status, code, fields) => {
    const response = await leavingNothing(() => backEnd("POST", "/tokens", request));
    expect(brief(response)).toEqual({ status, code, fields });
  });

  it("is never quoted", async () => {
    const wrong = ['{"number":"4242424242424242"', '{"data":4242424242424242x}', '"4242424242424242'];
    for (const raw of wrong) {
      const { status, body } = await backEnd("POST", "/tokens", { raw });
      expect(status).toBe(400);
      expect(withoutIds(body)).not.toContain("4242");
    }
  });

  it("is read up to the limit, and not beyond it", async () => {
    const rest = token('""').length;
    const most = await backEnd("POST", "/tokens", { raw: token(`"${"x".repeat(LIMIT - rest)}"`) });
    expect(most.status).toBe(201);
    const over = await leavingNothing(() =>
      backEnd("POST", "/tokens", { raw: token(`"${"x".repeat(LIMIT - rest + 1)}"`) }),
    );
    expect(brief(over)).toEqual({ status: 413, code: "body_too_large", fields: [] });
  });

  it.each([
    ["application/json"],
    ["application/json; charset=utf-8"],
    ["Application/JSON"],
    ["text/json"],
    ["application/vnd.api+json"],
  ])("is accepted although it is called %s", async (contentType) => {
    expect(await backEnd("POST", "/tokens", { raw: token("1"), headers: type(contentType) })).toMatchObject({
      status: 201,
    });
  });
});

describe("a REST body with a wrong field", () => {
  it.each<[string, string, string[]]>([
    ["nothing", "", ["type", "data"]],
    ["null", "null", ["type", "data"]],
    ["an empty object", "{}", ["type", "data"]],
    ["a list", "[]", ["body"]],
    ["a text", '"x"', ["body"]],
    ["a number", "1", ["body"]],
    ["a type that is a number", '{"type":5,"data":1}', ["type"]],
    ["a type that is null", '{"type":null,"data":1}', ["type"]],
    ["an unknown type", '{"type":"nope","data":1}', ["type"]],
    ["no data", '{"type":"token"}', ["data"]],
    ["null data", token("null"), ["data"]],
    ["an id that is a number", '{"type":"token","data":1,"id":7}', ["id"]],
    ["an id with a NUL", '{"type":"token","data":1,"id":"a\\u0000bc"}', ["id"]],
    ["an id with half a surrogate pair", '{"type":"token","data":1,"id":"abc\\ud83d"}', ["id"]],
    ["containers that are a text", '{"type":"token","data":1,"containers":"/a/"}', ["containers"]],
    ["a container that is null", '{"type":"token","data":1,"containers":["/a/",null]}', ["containers[1]"]],
    ["a container that is an object", '{"type":"token","data":1,"containers":[{}]}', ["containers[0]"]],
    ["21 containers", `{"type":"token","data":1,"containers":[${Array(21).fill('"/a/"')}]}`, ["containers"]],
    ["metadata that is a list", '{"type":"token","data":1,"metadata":[]}', ["metadata"]],
    ["metadata that is a number", '{"type":"token","data":1,"metadata":{"k":1}}', ["metadata.k"]],
    ["metadata that is null", '{"type":"token","data":1,"metadata":{"k":null}}', ["metadata.k"]],
    ["metadata with a NUL", '{"type":"token","data":1,"metadata":{"k":"\\u0000"}}', ["metadata.k"]],
    ["metadata with half a surrogate pair", '{"type":"token","data":1,"metadata":{"k":"\\udc00"}}', ["metadata.k"]],
    [
      "metadata of 1001 characters",
      `{"type":"token","data":1,"metadata":{"k":"${"x".repeat(1_001)}"}}`,
      ["metadata.k"],
    ],
    ["search indexes that are a text", '{"type":"token","data":1,"search_indexes":"{{ data }}"}', ["search_indexes"]],
    ["an empty search index", '{"type":"token","data":1,"search_indexes":[""]}', ["search_indexes[0]"]],
    [
      "a search index with an unknown filter",
      '{"type":"token","data":1,"search_indexes":["{{ data | nope }}"]}',
      ["search_indexes[0]"],
    ],
    [
      "a fingerprint expression that is cut off",
      '{"type":"token","data":1,"fingerprint_expression":"{{ data"}',
      ["fingerprint_expression"],
    ],
    ["a flag that is a text", '{"type":"token","data":1,"deduplicate_token":"true"}', ["deduplicate_token"]],
    ["a flag that is a number", '{"type":"token","data":1,"deduplicate_token":1}', ["deduplicate_token"]],
    ["an expiry that is a number", '{"type":"token","data":1,"expires_at":1924934400}', ["expires_at"]],
    ["several", '{"type":7,"data":1,"containers":5,"metadata":"x"}', ["type", "containers", "metadata"]],
    ["a prototype in place of its fields", '{"__proto__":{"type":"token","data":1}}', ["type", "data"]],
    ["half a surrogate pair in its data", token('{"a":["\\ud800"]}'), ["data.a[0]"]],
    ["half a surrogate pair in a name of its data", token('{"a":{"\\ud800":1}}'), ["data.a"]],
    ["more digits than a number keeps", token("4111111111111111111"), ["data"]],
    ["such a number deep within", token('{"a":[1,{"b":9007199254740993}]}'), ["data.a[1].b"]],
    ["a number that is infinite", token("1e400"), ["data"]],
    ["a number that vanishes", token("1e-400"), ["data"]],
    ["several numbers that do not fit", token("[12345678901234567890,1,1e999]"), ["data[0]", "data[2]"]],
    ["a number that does not fit in a field of no meaning", '{"type":"token","data":1,"x":1e999}', ["x"]],
  ])("is rejected: %s", async (_, raw, fields) => {
    const response = await leavingNothing(() => backEnd("POST", "/tokens", { raw }));
    expect(brief(response)).toEqual({ status: 400, code: "validation_failed", fields });
    for (const texts of Object.values(response.body.errors)) expect(texts).toEqual([expect.stringMatching(/\S/)]);
  });

  it("explains what to do about a number that is out of range", async () => {
    const { body } = await backEnd("POST", "/tokens", { raw: token("4111111111111111111") });
    expect(body.errors.data[0]).toContain("send it as a string");
    expect(withoutIds(body)).not.toContain("4111");
  });

  it.each([
    ["unknown fields", '{"type":"token","data":1,"colour":"red","nested":{"a":[1]}}', 1],
    ["the first of two equal keys", '{"type":"nope","data":1,"type":"token","data":2}', 2],
    [
      "nulls in place of what may be left out",
      '{"type":"token","data":3,"id":null,"mask":null,"containers":null,"metadata":null}',
      3,
    ],
    ["a byte order mark", '\ufeff{"type":"token","data":4}', 4],
    ["blanks around it", ' \n\t{"type":"token","data":5}\r\n ', 5],
    ["64 levels", token(nested(64)), JSON.parse(nested(64))],
    [
      "numbers that look long and are exact",
      token("[1.0000000000000000,12345678901234567000]"),
      [1, 12345678901234567000],
    ],
  ])("is accepted although it has %s", async (_, raw, data) => {
    const created = await backEnd("POST", "/tokens", { raw });
    expect(created).toMatchObject({ status: 201 });
    expect((await backEnd("GET", `/tokens/${created.body.id}`)).body.data).toEqual(data);
  });
});

describe("a REST body in other places", () => {
  it.each<[string, string, string, unknown, string[]]>([
    ["POST", "/applications", "null", null, ["name", "type"]],
    [
      "POST",
      "/applications",
      "wrong kinds",
      { name: {}, type: [], permissions: "x", rules: {} },
      ["name", "type", "permissions", "rules"],
    ],
    ["POST", "/applications", "rules of wrong kinds", { name: "x", type: "private", rules: [5] }, ["rules[0]"]],
    [
      "POST",
      "/applications",
      "a priority that is too large",
      {
        name: "x",
        type: "private",
        rules: [{ priority: 2 ** 31, container: "/", transform: "mask", permissions: ["token:read"] }],
      },
      ["rules[0].priority"],
    ],
    [
      "POST",
      "/applications",
      "a name with a NUL",
      { name: "a\0b", type: "private", permissions: ["token:read"] },
      ["name"],
    ],
    ["PUT", "/tenants/self", "half a surrogate pair", { name: "a\ud800" }, ["name"]],
    ["PUT", "/tenants/self", "a list", [], ["body"]],
  ])("%s %s with %s", async (method, path, _, body, fields) => {
    const response = await leavingNothing(() => tenant.manage(method, path, { body }));
    expect(brief(response)).toEqual({ status: 400, code: "validation_failed", fields });
  });

  it("stores nothing if a tokenize request has more than 100 values", async () => {
    const response = await leavingNothing(() =>
      backEnd("POST", "/tokenize", { body: Array.from({ length: 101 }, (_, index) => index) }),
    );
    expect(brief(response)).toEqual({ status: 400, code: "validation_failed", fields: ["body"] });
  });

  it.each(["[4111111111111111111]", '{"a":{"b":1e400}}', "9007199254740993"])(
    "as a tokenize of %s stores nothing",
    async (raw) => {
      const response = await leavingNothing(() => backEnd("POST", "/tokenize", { raw }));
      expect(response).toMatchObject({ status: 400, body: { code: "validation_failed" } });
      expect(Object.keys(response.body.errors)).toHaveLength(1);
    },
  );
});

describe("a REST request that is answered before its body is read", () => {
  /** Sends a body of this many megabytes and returns everything that is received. */
  function send(
    key: string,
    framing: "Content-Length" | "chunked",
    megabytes: number,
    to = "POST /tokens HTTP/1.1",
  ): Promise<string> {
    const { hostname, port } = new URL(tenant.url);
    return new Promise((resolve, reject) => {
      const socket = createConnection(Number(port), hostname);
      let received = "";
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString();
        // The last chunk of the response: nothing follows.
        if (/\r\n\r\n[\s\S]*\}$/.test(received)) socket.end();
      });
      socket.on("error", (error) =>
        reject(new Error(`${error.message} after ${JSON.stringify(received.slice(0, 40))}`)),
      );
      socket.on("close", () => resolve(received));
      const length = framing === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${megabytes * MEGABYTE}`;
      socket.write(`${to}\r\nHost: x\r\nBT-API-KEY: ${key}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`);
      const piece = Buffer.alloc(MEGABYTE, " ");
      for (let sent = 0; sent < megabytes; sent += 1) {
        socket.write(
          framing === "chunked" ? Buffer.concat([Buffer.from("100000\r\n"), piece, Buffer.from("\r\n")]) : piece,
        );
      }
      if (framing === "chunked") socket.write("0\r\n\r\n");
    });
  }

  it.each(["Content-Length", "chunked"] as const)(
    "because the body is too large (%s) reaches its sender",
    async (framing) => {
      expect(await send(backEnd.key, framing, 12)).toMatch(/^HTTP\/1\.1 413 /);
    },
  );

  it.each(["Content-Length", "chunked"] as const)(
    "because the key is unknown (%s) reaches its sender",
    async (framing) => {
      expect(await send("unknown", framing, 12)).toMatch(/^HTTP\/1\.1 401 /);
    },
  );

  it.each(["Content-Length", "chunked"] as const)(
    "by the proxy (%s) reaches its sender, whether or not the body was to be read",
    async (framing) => {
      const to = "POST /proxy HTTP/1.1\r\nBT-PROXY-URL: https://destination.example.com";
      expect(await send("unknown", framing, 12, to)).toMatch(/^HTTP\/1\.1 401 /);
      expect(await send(backEnd.key, framing, 12, to)).toMatch(/^HTTP\/1\.1 413 /);
      const unknown = "POST /proxy HTTP/1.1\r\nBT-PROXY-KEY: none";
      expect(await send(backEnd.key, framing, 12, unknown)).toMatch(/^HTTP\/1\.1 404 /);
    },
  );

  it.each(["Content-Length", "chunked"] as const)(
    "because the path cannot be read (%s) reaches its sender",
    async (framing) => {
      expect(await send(backEnd.key, framing, 12, "POST /tokens/%E0%A4%A HTTP/1.1")).toMatch(/^HTTP\/1\.1 400 /);
    },
  );

  it("leaves the connection usable for the next request", async () => {
    const responses: number[] = [];
    for (const raw of [
      token(`"${"x".repeat(6 * MEGABYTE)}"`),
      token("1"),
      token(`"${"x".repeat(6 * MEGABYTE)}"`),
      token("2"),
    ]) {
      responses.push((await backEnd("POST", "/tokens", { raw })).status);
    }
    expect(responses).toEqual([413, 201, 413, 201]);
  });

  it.each([
    ["/tokens", 413],
    ["/proxy", 404],
  ])("is answered over HTTP/2 as well: %s", async (path, expected) => {
    const session = connect(tenant.url);
    try {
      const status = await new Promise((resolve, reject) => {
        const stream = session.request({
          ...{ ":method": "POST", ":path": path },
          ...{ "bt-api-key": backEnd.key, "bt-proxy-key": "none", "content-type": "application/json" },
        });
        stream.on("response", (headers) => resolve(headers[":status"]));
        stream.on("error", reject);
        stream.end(Buffer.alloc(6 * MEGABYTE, " "));
      });
      expect(status).toBe(expected);
    } finally {
      session.close();
    }
  });
});
