import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/base/json.js";
import { FunctionFailed } from "../../src/functions/function-failed.js";
import { Message } from "../../src/proxy/message.js";

const JSON_TYPE = [["Content-Type", "application/json; charset=utf-8"]] as const;
const message = (text: string | Buffer, headers: readonly (readonly [string, string])[] = JSON_TYPE) =>
  new Message(headers, Buffer.from(text));

describe("a message passed through transforms", () => {
  it("is an object for application/json only, and text otherwise", () => {
    expect(message('{"a": 1.0}').body).toEqual({ a: 1 });
    expect(message('{"a": 1.0}', [["content-type", "application/problem+json"]]).body).toBe('{"a": 1.0}');
    expect(message("{broken").body).toBe("{broken");
    expect(message("").body).toBe("");
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    expect(Array.isArray(message(nested(128)).body)).toBe(true);
    for (const levels of [129, 500_000]) expect(message(nested(levels)).body).toBe(nested(levels));
  });

  it.each([['{ "a": 1.0, "b": 12345678901234567890 }'], ['"text"'], ["null"], ["{broken"]])(
    "keeps the bytes of %s if no step changed the body",
    (text) => {
      const kept = message(text);
      const { body } = kept;
      kept.body = body;
      kept.headers = [];
      expect(kept.bytes.toString()).toBe(text);
    },
  );

  it.each([
    ['{ "id":12345678901234567890, "n": 1.0, "b":1e400, "2": 2, "a": [] }', "the same body"],
    ["[1.50, 0.1000000000000000055]", "the same list"],
    ["12345678901234567890", "the same number"],
    ["null", "the same null"],
  ])("keeps the bytes of %s if code returns %s", (text) => {
    const kept = message(text);
    // As it returns from code: serialized and parsed.
    kept.take({ body: JSON.parse(JSON.stringify(kept.body)), headers: {} });
    expect(kept.bytes.toString()).toBe(text);
  });

  it.each<[string, (body: Json) => Json, string]>([
    [
      '{"id":12345678901234567890,"n":1.0}',
      (body) => ({ ...Object(body), added: true }),
      '{"id":12345678901234567890,"n":1,"added":true}',
    ],
    ['{"id":12345678901234567890}', (body) => ({ moved: [Object(body).id] }), '{"moved":[12345678901234567890]}'],
    [
      "[0.1000000000000000055,-9007199254740993]",
      (body) => [body, 0.5],
      "[[0.1000000000000000055,-9007199254740993],0.5]",
    ],
    [
      '["12345678901234567890","\\\\",9007199254740993]',
      (body) => [body],
      '[["12345678901234567890","\\\\",9007199254740993]]',
    ],
    ['{"b":1,"a":2}', (body) => ({ a: Object(body).a, b: Object(body).b }), '{"a":2,"b":1}'],
  ])("keeps the digits of %s if code changes it", (text, change, expected) => {
    const changed = message(text);
    changed.take({ body: change(JSON.parse(JSON.stringify(changed.body))), headers: {} });
    expect(changed.bytes.toString()).toBe(expected);
  });

  it.each([
    ["numbers that became one", "[9007199254740993,9007199254740992]"],
    ["a number beyond the range", "[1e400]"],
  ])("is rejected as ambiguous if code changes a body with %s", (_, text) => {
    const changed = message(text);
    changed.take({ body: [1, JSON.parse(JSON.stringify(changed.body))], headers: {} });
    expect(() => changed.bytes).toThrow(expect.objectContaining({ code: "unprocessable" }));
    const gone = message(text);
    gone.take({ body: { a: 1 }, headers: {} });
    if (!text.includes("e400")) expect(gone.bytes.toString()).toBe('{"a":1}');
  });

  it("gets the JSON type if code returns an object and no type", () => {
    const typeOf = (body: Json, headers: JsonObject) => {
      const taken = message("text", []);
      taken.take({ body, headers });
      return taken.headers;
    };
    const json = [["Content-Type", "application/json; charset=utf-8"]];
    for (const body of [{ a: 1 }, [1], 5, true]) expect(typeOf(body, {})).toEqual(json);
    for (const body of ["text", null]) expect(typeOf(body, {})).toEqual([]);
    expect(typeOf({ a: 1 }, { "content-TYPE": "text/own" })).toEqual([["content-TYPE", "text/own"]]);
  });

  it("keeps bytes that are not text if code returns the body", () => {
    const bytes = Buffer.from([0xff, 0xfe, 0, 1]);
    const kept = message(bytes, []);
    kept.take({ body: kept.body, headers: {} });
    expect(kept.bytes.equals(bytes)).toBe(true);
  });

  it("writes a changed body as JSON, a text unchanged, and null as nothing", () => {
    const changed = message("{}");
    changed.body = { a: [1] };
    expect(changed.bytes.toString()).toBe('{"a":[1]}');
    changed.body = "plain";
    expect(changed.bytes.toString()).toBe("plain");
    changed.body = null;
    expect(changed.bytes).toHaveLength(0);
  });

  it("keeps the spelling around a replaced text", () => {
    const masked = message('{ "n": "4242", "x": 1.0 }');
    masked.rewrite('{ "n": "****", "x": 1.0 }');
    expect(masked.body).toEqual({ n: "****", x: 1 });
    expect(masked.bytes.toString()).toBe('{ "n": "****", "x": 1.0 }');
  });

  it("shows headers by name, joined, but cookies separately", () => {
    const headers = [
      ["A", "1"],
      ["a", "2"],
      ["A", "3"],
      ["Set-Cookie", "x"],
      ["Set-Cookie", "y"],
      ["Set-Cookie", "z"],
      ["Cookie", "s=1"],
      ["Cookie", "t=2"],
      ["__proto__", "p"],
    ] as const;
    const object = message("", headers).headersObject();
    expect(Object.entries(object)).toEqual([
      ["A", "1, 3"],
      ["a", "2"],
      ["Set-Cookie", ["x", "y", "z"]],
      ["Cookie", "s=1; t=2"],
      ["__proto__", "p"],
    ]);
  });

  it("accepts headers from code: lists as several, numbers as text, and non-latin1 as UTF-8", () => {
    const taken = message("");
    taken.take({ body: "", headers: { "Set-Cookie": ["x", "y"], N: 1, T: true, Gone: null, Object: {}, U: "✓" } });
    expect(taken.headers).toEqual([
      ["Set-Cookie", "x"],
      ["Set-Cookie", "y"],
      ["N", "1"],
      ["T", "true"],
      ["U", "\u00e2\u009c\u0093"],
    ]);
  });

  it.each([
    ["nothing", null],
    ["a text", "x"],
    ["no body", { headers: {} }],
    ["no headers", { body: {} }],
    ["headers that are a list", { body: {}, headers: [] }],
    ["an invalid header's name", { body: {}, headers: { "a b": "c" } }],
    ["a header with a line break", { body: {}, headers: { a: "b\r\nc: d" } }],
  ])("is not replaced by %s", (_, returned) => {
    expect(() => message("{}").take(returned)).toThrow(FunctionFailed);
  });
});
