import { readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, httpResponse, startDestination } from "./support/destination.js";
import { code, makeProxy } from "./support/proxies.js";

const STATUS = "BT-PROXY-DESTINATION-STATUS";
const SAME = "body: req.args.body, headers: req.args.headers";

describe("transforms", () => {
  let tenant: TestTenant;
  let destination: Destination;
  let backEnd: RestClient & { readonly key: string; readonly id: string };
  let token: string;
  let reply: Buffer;

  beforeAll(async () => {
    tenant = await newTenant();
    destination = await startDestination((socket) => socket.write(reply));
    backEnd = await tenant.backEnd();
    token = (await backEnd("POST", "/tokens", { body: { type: "token", data: "of the token" } })).body.id;
  });
  afterAll(() => destination[Symbol.asyncDispose]());

  interface Sent {
    readonly method?: string;
    readonly path?: string;
    readonly raw?: string;
    readonly type?: string;
    readonly headers?: Record<string, string>;
    readonly bytes?: Buffer;
  }
  const through = async (definition: object, sent: Sent = {}) => {
    const { key } = await makeProxy(tenant, { destination_url: `${destination.url}/base`, ...definition });
    reply = sent.bytes ?? httpResponse("200 OK", ["Content-Type: application/json"], '{ "n": 1.0 }');
    const asked = destination.requests.length;
    const received = await backEnd(sent.method ?? "POST", `/proxy${sent.path ?? ""}`, {
      ...(sent.method === "GET" ? {} : { raw: sent.raw ?? "{}" }),
      headers: { "BT-PROXY-KEY": key, "Content-Type": sent.type ?? "application/json", ...sent.headers },
    });
    return { ...received, asked: destination.requests.length - asked };
  };

  describe("request transforms", () => {
    const telling = code(`const { body, headers, method, path, query } = req.args;
      return { headers: { ...headers, "X-Told": "yes" }, body: { body, type: typeof body, method, path, query,
        names: Object.keys(headers), configuration: req.configuration, bt: req.bt === undefined || req.bt === null } };`);

    it("receive body, headers, method, path and query, with references replaced", async () => {
      const { status } = await through(
        { request_transform: telling, configuration: { A: "1" } },
        { path: `/a/b?q=%20{{${token}}}`, raw: `{"t":"{{ ${token} }}"}`, headers: { "X-Own": "1" } },
      );
      expect(status).toBe(200);
      expect(destination.last().line).toBe("POST /base/a/b?q=%20of%20the%20token HTTP/1.1");
      expect(destination.last().header("x-told")).toBe("yes");
      const told = JSON.parse(destination.last().body.toString());
      expect(told).toMatchObject({
        ...{
          body: { t: "of the token" },
          type: "object",
          method: "POST",
          path: "/a/b",
          query: "?q=%20of%20the%20token",
        },
        ...{ configuration: { A: "1" }, bt: true },
      });
      expect(told.names.filter((name: string) => /^bt-/i.test(name))).toEqual([]);
    });

    it.each([
      ["text/plain", "{}", "string"],
      ["application/problem+json", "{}", "string"],
      ["application/json; charset=utf-8", "[1]", "object"],
      ["application/json", "{not json", "string"],
      ["application/json", `${"[".repeat(200_000)}${"]".repeat(200_000)}`, "string"],
    ])("receive a body of %s %.20s as %s", async (type, raw, expected) => {
      expect((await through({ request_transform: telling }, { type, raw })).status).toBe(200);
      expect(JSON.parse(destination.last().body.toString()).type).toBe(expected);
    });

    it("may add headers that no caller can send", async () => {
      const { status } = await through({
        request_transform: code(
          `return { body: "é", headers: { "X.Dotted": "1", "Keep-Alive": "timeout=3", Connection: "own", "Content-Length": "99", Host: "evil" } }`,
        ),
      });
      expect(status).toBe(200);
      expect(destination.last().headers).toEqual([
        ["Host", `127.0.0.1:${destination.port}`],
        ["X.Dotted", "1"],
        ["Keep-Alive", "timeout=3"],
        ["Connection", "own"],
        ["Content-Length", "2"],
      ]);
    });

    it("have bt if the proxy has an application, with its permissions", async () => {
      const uses = code(`const made = await req.bt.tokens.create({ type: "token", data: req.args.body.secret });
        return { headers: req.args.headers, body: { id: made.id } };`);
      await through({ request_transform: uses, application: { id: backEnd.id } }, { raw: '{"secret":"made in code"}' });
      const { id } = JSON.parse(destination.last().body.toString());
      expect((await backEnd("GET", `/tokens/${id}`)).body.data).toBe("made in code");
      const clerk = await tenant.application({ type: "private", permissions: ["token:use"] });
      const refused = await through({ request_transform: uses, application: { id: clerk.id } });
      expect([refused.status, refused.asked]).toEqual([500, 0]);
    });

    it.each<[string, string, number, string, Record<string, string[]>]>([
      ["an error of its own", "throw new Error('own words')", 500, "Reactor Runtime Error", { error: ["own words"] }],
      [
        "nothing that can be sent",
        "return 5",
        500,
        "Reactor Runtime Error",
        { error: ["A transform must return an object with body and headers."] },
      ],
      [
        "no headers",
        "return { body: {} }",
        500,
        "Reactor Runtime Error",
        { error: ["A transform must return an object with body and headers."] },
      ],
      [
        "a line break in a header",
        "return { body: '', headers: { a: 'b\\r\\nc: d' } }",
        500,
        "Reactor Runtime Error",
        { error: ["A transform must return headers that HTTP can carry, without line breaks."] },
      ],
      [
        "a documented error",
        "const { AuthenticationError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js'); throw new AuthenticationError('who')",
        401,
        "Authentication Failed",
        { error: ["who"] },
      ],
    ])("end the call before the destination with %s", async (what, statements, status, detail, errors) => {
      const received = await through({ request_transform: code(statements) });
      expect([received.status, received.asked]).toEqual([status, 0]);
      expect(received.body.proxy_error).toEqual({
        ...{ type: "/docs/guides/errors#proxy_error", title: "One or more validation errors occurred." },
        ...{ status, detail, errors, code: "proxy_error" },
        // Callers see the location of errors outside the published classes.
        ...(what === "an error of its own" ? { position: { line: 1, column: expect.any(Number) } } : {}),
        instance: `urn:cloakroom:trace:${received.headers.get("bt-trace-id")}`,
      });
      expect(received.headers.has(STATUS)).toBe(false);
    });

    it("respond in place of the destination, verbatim", async () => {
      const custom =
        code(`const { CustomHttpResponseError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
        throw new CustomHttpResponseError({ status: 418, headers: { "X-Tea": "pot" }, body: { short: "stout" } });`);
      const received = await through({ request_transform: custom });
      expect(received).toMatchObject({ status: 418, body: { short: "stout" }, asked: 0 });
      expect([received.headers.get("x-tea"), received.headers.has(STATUS)]).toEqual(["pot", false]);
    });

    it("accept no more than 5 MB, whatever the type", async () => {
      const large = "x".repeat(5 * 1024 * 1024 + 1);
      const received = await through(
        { request_transform: code(`return { ${SAME} }`) },
        { raw: large, type: "image/png" },
      );
      expect([received.status, received.body.proxy_error.code, received.asked]).toEqual([413, "body_too_large", 0]);
    });

    it("leave a body unchanged if they return it unchanged", async () => {
      const raw = '{ "z":1.0e2,  "id":12345678901234567890, "2":2, "a":[ ] }';
      const same = [
        code(`return { ${SAME} }`),
        code("return req.args"),
        code(`req.args.body.x = 1; delete req.args.body.x; return { ${SAME} }`),
      ];
      for (const request_transform of same) {
        expect((await through({ request_transform }, { raw })).status).toBe(200);
        expect(destination.last().body.toString()).toBe(raw);
      }
    });

    it("keep the digits of numbers that code cannot represent", async () => {
      const raw = '{ "id":12345678901234567890, "n":1.0 }';
      const { status } = await through(
        {
          request_transform: code(
            "return { body: { moved: req.args.body.id, one: req.args.body.n }, headers: req.args.headers }",
          ),
        },
        { raw },
      );
      expect(status).toBe(200);
      expect(destination.last().body.toString()).toBe('{"moved":12345678901234567890,"one":1}');
      const ambiguous = await through(
        { request_transform: code("return { body: [req.args.body], headers: req.args.headers }") },
        { raw: "[9007199254740993,9007199254740992]" },
      );
      expect([ambiguous.status, ambiguous.body.proxy_error.code, ambiguous.asked]).toEqual([422, "unprocessable", 0]);
    });

    it("are a 422 if the code exports no function", async () => {
      const received = await through({ request_transform: { code: "module.exports = 5;" } });
      expect([received.status, received.asked]).toEqual([422, 0]);
      expect(received.body.proxy_error.status).toBe(422);
    });
  });

  describe("response transforms", () => {
    it("receive body and headers, and replace both", async () => {
      const received = await through({
        response_transform:
          code(`return { headers: { "X.Any~Name": "1", "Set-Cookie": ["a=1", "b=2"], "Content-Type": "application/json" },
          body: { seen: req.args.body, keys: Object.keys(req.args) } }`),
      });
      expect(received).toMatchObject({ status: 200, body: { seen: { n: 1 }, keys: ["body", "headers"] } });
      expect(received.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
      expect([received.headers.get("x.any~name"), received.headers.get(STATUS)]).toEqual(["1", "200"]);
    });

    it.each([
      ["gzip", gzipSync],
      ["br", brotliCompressSync],
    ] as const)("receive %s data decompressed, and it is forwarded decompressed", async (encoding, pack) => {
      const bytes = httpResponse(
        "200 OK",
        ["Content-Type: application/json", `Content-Encoding: ${encoding}`],
        pack('{"packed":true}'),
      );
      const received = await through(
        {
          response_transform: code(
            "return { headers: req.args.headers, body: { ...req.args.body, seen: Object.keys(req.args.headers) } }",
          ),
        },
        { bytes },
      );
      expect(received.body).toEqual({ packed: true, seen: ["Content-Type"] });
      expect(received.headers.has("content-encoding")).toBe(false);
    });

    it.each(["300 Other", "404 Not Found", "500 Oh"])("do not run on %s", async (line) => {
      const bytes = httpResponse(line, ["Content-Type: application/json"], '{ "left": "alone" }');
      const received = await through({ response_transform: code("throw new Error('ran')") }, { bytes });
      expect(received).toMatchObject({ status: Number(line.slice(0, 3)), body: { left: "alone" } });
    });

    it("run on a response without a body", async () => {
      const received = await through(
        { response_transform: code("return { body: req.args.body, headers: { 'X-Ran': typeof req.args.body } }") },
        { bytes: Buffer.from("HTTP/1.1 204 No Content\r\n\r\n") },
      );
      expect([received.status, received.headers.get("x-ran"), received.body]).toEqual([204, "string", ""]);
    });

    it.each<[string, string, Buffer, number]>([
      [
        "a wrong content encoding",
        `return { ${SAME} }`,
        httpResponse("201 Made", ["Content-Encoding: gzip"], "no gzip"),
        422,
      ],
      [
        "an encoding that is unknown",
        `return { ${SAME} }`,
        httpResponse("201 Made", ["Content-Encoding: zstd"], "x"),
        422,
      ],
      [
        "encodings in two headers",
        `return { ${SAME} }`,
        httpResponse("201 Made", ["Content-Encoding: identity", "Content-Encoding: gzip"], gzipSync("x")),
        422,
      ],
      [
        "a body that is too large",
        `return { ${SAME} }`,
        httpResponse("201 Made", [], Buffer.alloc(5 * 1024 * 1024 + 1)),
        502,
      ],
      [
        "a bomb",
        `return { ${SAME} }`,
        httpResponse("201 Made", ["Content-Encoding: gzip"], gzipSync(Buffer.alloc(50 * 1024 * 1024))),
        502,
      ],
    ])("say so with the destination's status if they fail by %s", async (_, statements, bytes, status) => {
      const received = await through({ response_transform: code(statements) }, { bytes });
      expect([received.status, received.body.proxy_error.status, received.headers.get(STATUS)]).toEqual([
        status,
        status,
        "201",
      ]);
    });

    it("blame neither destination nor vault if they throw, and say that the destination has responded", async () => {
      const bytes = httpResponse("201 Made", [], "x");
      const received = await through({ response_transform: code("throw new Error('own words')") }, { bytes });
      expect([received.status, received.asked, received.headers.has(STATUS)]).toEqual([500, 1, false]);
      expect(received.body.proxy_error).toMatchObject({ code: "proxy_error", status: 500, destination_status: 201 });
    });

    it("are a 502 with the destination's status if its response ends early", async () => {
      await using cut = await startDestination(
        (socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
      );
      const received = await through({ destination_url: cut.url, response_transform: code(`return { ${SAME} }`) });
      expect([received.status, received.headers.get(STATUS)]).toEqual([502, "200"]);
    });

    it("do not blame the request for a response that is too large", async () => {
      const bytes = httpResponse("200 OK", [], Buffer.alloc(5 * 1024 * 1024 + 1));
      const received = await through({ response_transform: code(`return { ${SAME} }`) }, { bytes });
      expect(received.body.proxy_error).toMatchObject({
        ...{ status: 502, code: "destination_unreachable" },
        detail: "The destination's response has more than the 5242880 bytes that a response transform takes.",
      });
    });

    it("leave a body unchanged if they return it unchanged, and set the type of an object", async () => {
      const text = '{ "z": 1.0, "id":12345678901234567890,\n "2": 2 }';
      const bytes = httpResponse("200 OK", ["Content-Type: application/json"], text);
      const { key } = await makeProxy(tenant, {
        destination_url: destination.url,
        response_transform: code("return { body: req.args.body, headers: {} }"),
      });
      reply = bytes;
      const response = await fetch(`${inject("serverUrl")}/proxy`, {
        headers: { "BT-API-KEY": backEnd.key, "BT-PROXY-KEY": key },
      });
      expect(await response.text()).toBe(text);
      expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    });

    it("respond in place of the destination, verbatim, and its status is still reported", async () => {
      const custom =
        code(`const { CustomHttpResponseError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
        throw new CustomHttpResponseError({ status: 299, headers: { "Content-Type": "text/own" }, body: "own words" });`);
      const received = await through({ response_transform: custom });
      expect(received).toMatchObject({ status: 299, body: "own words" });
      expect([received.headers.get("content-type"), received.headers.get(STATUS)]).toEqual(["text/own", "200"]);
    });
  });

  describe("without code", () => {
    it("mask what a pattern captures, and leave the rest unchanged", async () => {
      const bytes = httpResponse(
        "200 OK",
        ["Content-Type: application/json"],
        '{ "accountNumber":  "56834512", "n": 1.0 }',
      );
      const mask = { type: "mask", matcher: "regex", expression: '"accountNumber":\\s*"(.*?)"', replacement: "*" };
      const { key } = await makeProxy(tenant, { destination_url: destination.url, response_transform: mask });
      reply = bytes;
      const response = await fetch(`${inject("serverUrl")}/proxy`, {
        headers: { "BT-API-KEY": backEnd.key, "BT-PROXY-KEY": key },
      });
      expect(await response.text()).toBe('{ "accountNumber":  "********", "n": 1.0 }');
    });

    it("mask every occurrence within a match, and card numbers with a valid check digit", async () => {
      const text = httpResponse("200 OK", ["Content-Type: text/plain"], "aabbccaabbccaa");
      const pattern = { type: "mask", matcher: "regex", expression: "^(aa).*?$", replacement: "*" };
      expect((await through({ response_transform: pattern }, { bytes: text })).body).toBe("**bbcc**bbcc**");
      const cards = httpResponse("200 OK", ["Content-Type: text/plain"], "4242424242424242 4242424242424241");
      const pan = { type: "mask", matcher: "chase_stratus_pan", replacement: "x" };
      expect((await through({ response_transform: pan }, { bytes: cards })).body).toBe(
        `${"x".repeat(16)} 4242424242424241`,
      );
    });

    it("tokenize, append to the body and append headers, each on the result of the previous one", async () => {
      const bytes = httpResponse(
        "200 OK",
        ["Content-Type: application/json"],
        '{"card":{"pan":"4242424242424242"},"n":1}',
      );
      const received = await through(
        {
          application: { id: backEnd.id },
          response_transforms: [
            { type: "tokenize", options: { identifier: "made", token: { type: "token", data: "{{ res.card.pan }}" } } },
            {
              type: "append_json",
              options: { value: "{{ transform_identifier: 'made' | json: '$.id' }}", location: "$.card.token" },
            },
            {
              type: "append_json",
              options: { value: { n: "{{ res.n }}", list: ["<{{ res.n }}>"] }, location: "$.copy" },
            },
            {
              type: "append_header",
              options: { value: "token={{ transform_identifier: 'made' | json: '$.id' }}", location: "X-Token" },
            },
          ],
        },
        { bytes },
      );
      const { body, headers } = received;
      expect(body).toEqual({
        card: { pan: "4242424242424242", token: expect.any(String) },
        n: 1,
        copy: { n: 1, list: ["<1>"] },
      });
      expect(headers.get("x-token")).toBe(`token=${body.card.token}`);
      expect((await backEnd("GET", `/tokens/${body.card.token}`)).body.data).toBe("4242424242424242");
    });

    it("tokenize parts of a request, with the token's own expressions", async () => {
      const token = {
        type: "card",
        data: "{{ request | json: '$.card' }}",
        mask: { shown: "{{ data.number | reveal_last: 4 }}", of: "{{ req.shop }}: {{ data.number | last4 }}" },
        search_indexes: ["{{ data.number | last4 }}"],
        fingerprint_expression: "{{ data.number }}",
      };
      await through(
        {
          application: { id: backEnd.id },
          request_transforms: [
            { type: "tokenize", options: { identifier: "card", token } },
            {
              type: "append_json",
              options: { value: "{{ transform_identifier: 'card' | json: '$.id' }}", location: "$.card" },
            },
          ],
        },
        { raw: '{"shop":"A","card":{"number":"4242424242424242","expiration_month":12,"expiration_year":2040}}' },
      );
      const { card } = JSON.parse(destination.last().body.toString());
      const made = (await backEnd("GET", `/tokens/${card}`)).body;
      expect(made.data.number).toBe("4242424242424242");
      expect(made.mask).toEqual({ ...token.mask, of: "A: {{ data.number | last4 }}" });
      expect(made.search_indexes).toEqual(token.search_indexes);
    });

    it("tokenize a card as the guide shows", async () => {
      const guide = readFileSync("docs/proxies.md", "utf8");
      const shown = JSON.parse(/```json\n(\{\n {2}"request_transforms".*?)```/s.exec(guide)?.[1] ?? "");
      await through(
        { application: { id: backEnd.id }, ...shown },
        { raw: '{"amount":5,"card":{"number":"4242424242424242"}}' },
      );
      const { amount, card } = JSON.parse(destination.last().body.toString());
      expect(amount).toBe(5);
      expect((await backEnd("GET", `/tokens/${card}`)).body.data).toEqual({ number: "4242424242424242" });
    });

    it.each([
      ["a mask", { mask: "Card of {{ res.name }}" }, { name: "{{ data }}" }],
      ["a mask, in two parts", { mask: { of: "{{ res.name }}{{ res.rest }}" } }, { name: "{", rest: "{ data }}" }],
      ["a mask, as an object", { mask: "{{ res.mask }}" }, { mask: { all: ["{{ data }}"] } }],
      ["a mask, as a key", { mask: "Card of {{ res.name }}" }, { name: { "{{ data }}": 1 } }],
      ["a fingerprint, as a key", { fingerprint_expression: "of {{ res.name }}" }, { name: [{ "{{ data }}": 1 }] }],
      ["an id", { id: "{{ res.id }}" }, { id: "{{ data }}" }],
    ])("do not let a destination bring an expression into %s", async (_, fields, body) => {
      const token = { type: "token", data: "secret", ...fields };
      const bytes = httpResponse("200 OK", ["Content-Type: application/json"], JSON.stringify(body));
      const received = await through(
        {
          application: { id: backEnd.id },
          response_transforms: [{ type: "tokenize", options: { identifier: "made", token } }],
        },
        { bytes },
      );
      expect([received.status, Object.values(received.body.proxy_error.errors)]).toEqual([
        400,
        [["must not get a { from a value that it inserts"]],
      ]);
    });

    it("change requests in their order, the single one first", async () => {
      await through(
        {
          request_transform: code(
            "return { body: { ...req.args.body, steps: ['single'] }, headers: req.args.headers }",
          ),
          request_transforms: [
            code("req.args.body.steps.push('first'); return { body: req.args.body, headers: req.args.headers }"),
            { type: "append_json", options: { value: "second", location: "$.steps[9]" } },
            { type: "append_header", options: { value: "third", location: "X-Step" } },
          ],
        },
        { raw: '{"a":1}' },
      );
      expect(JSON.parse(destination.last().body.toString())).toEqual({ a: 1, steps: ["single", "first", "second"] });
      expect(destination.last().header("x-step")).toBe("third");
    });

    it("leave the bytes of a body alone that they do not change", async () => {
      const raw = '{ "z":1.0e2,  "id":12345678901234567890 }';
      await through(
        { request_transforms: [{ type: "append_header", options: { value: "1", location: "X-A" } }] },
        { raw },
      );
      expect(destination.last().body.toString()).toBe(raw);
    });

    it("create no tokens without an application, and no invalid ones", async () => {
      const step = (data: object) => [
        { type: "tokenize", options: { identifier: "made", token: { type: "card", data } } },
      ];
      const none = await through({ request_transforms: step({ number: "4242424242424242" }) });
      expect([none.status, none.asked, none.body.proxy_error.code]).toEqual([403, 0, "permission_denied"]);
      const wrong = await through({ request_transforms: step({ number: "1" }), application: { id: backEnd.id } });
      expect([wrong.status, wrong.asked]).toEqual([400, 0]);
      expect(Object.keys(wrong.body.proxy_error.errors)).toEqual(["data.number"]);
    });

    it("cannot put a line break into a header", async () => {
      const bytes = httpResponse("200 OK", ["Content-Type: application/json"], '{"evil":"a\\r\\nX-Injected: b"}');
      const received = await through(
        { response_transforms: [{ type: "append_header", options: { value: "{{ res.evil }}", location: "X-A" } }] },
        { bytes },
      );
      expect([received.status, received.headers.has("x-injected"), received.headers.get(STATUS)]).toEqual([
        500,
        false,
        null,
      ]);
    });
  });

  it("use only the application of a proxy that requires no key", async () => {
    const { key } = await makeProxy(tenant, {
      ...{ destination_url: destination.url, require_auth: false, application: { id: backEnd.id } },
      request_transform: code(
        "const t = await req.bt.tokens.retrieve(req.args.body.id); return { body: { d: t.data }, headers: req.args.headers }",
      ),
    });
    reply = httpResponse("200 OK", [], "fine");
    const { status } = await restClient(inject("serverUrl"))("POST", "/proxy", {
      body: { id: token },
      headers: { "BT-PROXY-KEY": key },
    });
    expect(status).toBe(200);
    expect(JSON.parse(destination.last().body.toString())).toEqual({ d: "of the token" });
  });
});
