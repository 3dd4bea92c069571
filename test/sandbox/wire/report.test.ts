import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { ProtocolError } from "../../../src/sandbox/wire/frame.js";
import { readHostCall } from "../../../src/sandbox/wire/host-call.js";
import { readHealth } from "../../../src/sandbox/wire/messages.js";
import { readCompileReport, readReport } from "../../../src/sandbox/wire/report.js";

/** The runner is not trusted: only these readers separate it from the service. */
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const returned = { kind: "returned", console: [{ level: "log", text: "a" }], cold: true, waitedMs: 3 };

describe("reports", () => {
  test("carry a returned value", () => {
    expect(readReport(bytes(returned), bytes({ a: 1 }))).toEqual({
      outcome: { kind: "returned", value: { a: 1 }, console: [{ level: "log", text: "a" }] },
      cold: true,
      waitedMs: 3,
      threadEnded: false,
    });
  });

  test("carry a published error: status and detail are ours, whatever the runner says", () => {
    const error = { type: "published", name: "BadRequestError", status: 200, detail: "<script>", errors: { a: ["b"] } };
    expect(readReport(bytes({ kind: "threw", error, waitedMs: 0 }), Buffer.alloc(0)).outcome).toEqual({
      kind: "threw",
      error: { type: "published", name: "BadRequestError", status: 400, detail: "Bad Request", errors: { a: ["b"] } },
      console: [],
    });
  });

  test("carry names with a special meaning in plain objects", () => {
    const error = { type: "other", errors: JSON.parse('{"__proto__":["x"],"constructor":["y"]}') };
    const { outcome } = readReport(bytes({ kind: "threw", error, waitedMs: 0 }), Buffer.alloc(0));
    if (outcome.kind !== "threw" || outcome.error.type !== "other") throw new Error("it was read as something else");
    expect(Object.entries(outcome.error.errors)).toEqual([
      ["__proto__", ["x"]],
      ["constructor", ["y"]],
    ]);
    expect(Reflect.get({}, "0")).toBeUndefined();
  });

  test.each([
    ["a value that is not JSON", Buffer.from("{"), { kind: "failed", reason: "killed", retryable: false }],
    ["an empty value", Buffer.alloc(0), { kind: "failed", reason: "killed", retryable: false }],
    [
      "a value nested too deep",
      Buffer.from("[".repeat(129) + "]".repeat(129)),
      { kind: "failed", reason: "result_too_large" },
    ],
  ])("%s fails its run only", (_name, value, expected) => {
    expect(readReport(bytes(returned), value).outcome).toMatchObject(expected);
  });

  test("a value of 128 levels is accepted", () => {
    const value = JSON.parse("[".repeat(128) + "]".repeat(128));
    expect(readReport(bytes(returned), bytes(value)).outcome).toMatchObject({ kind: "returned", value });
  });

  test.each([
    ["no JSON", "nonsense"],
    ["no object", "[]"],
    ["an unknown kind", '{"kind":"pwned","waitedMs":0}'],
    ["no time in the queue", '{"kind":"returned"}'],
    ["an invalid time", '{"kind":"returned","waitedMs":1e99}'],
    ["an unknown reason", '{"kind":"failed","reason":"because","waitedMs":0}'],
    ["an invalid console", '{"kind":"returned","console":{},"waitedMs":0}'],
    ["a line without a level", '{"kind":"returned","console":[{"text":"a"}],"waitedMs":0}'],
    ["an unknown error", '{"kind":"threw","error":{"type":"x"},"waitedMs":0}'],
    ["an unknown class", '{"kind":"threw","error":{"type":"published","name":"Error","errors":{}},"waitedMs":0}'],
    ["errors that are not strings", '{"kind":"threw","error":{"type":"other","errors":{"a":[1]}},"waitedMs":0}'],
    [
      "a status that cannot be",
      '{"kind":"threw","error":{"type":"custom_http_response","status":42,"headers":{}},"waitedMs":0}',
    ],
    [
      "a header that is not a string",
      '{"kind":"threw","error":{"type":"custom_http_response","status":200,"headers":{"a":1}},"waitedMs":0}',
    ],
    [
      "a problem without a line",
      '{"kind":"failed","reason":"does_not_compile","problem":{"message":"x"},"waitedMs":0}',
    ],
  ])("%s is not a report", (_name, text) => {
    expect(() => readReport(Buffer.from(text), Buffer.from("1"))).toThrow(ProtocolError);
  });

  test("any JSON is either a report or rejected", () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (report, value) => {
        try {
          expect(["returned", "threw", "failed"]).toContain(
            readReport(Buffer.from(report), Buffer.from(value)).outcome.kind,
          );
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
    );
  });

  test("carry compilations", () => {
    expect(readCompileReport(bytes({ kind: "compiled" }))).toEqual({ kind: "compiled", problem: undefined });
    expect(readCompileReport(bytes({ kind: "failed", reason: "overloaded" }))).toEqual({ kind: "failed" });
    expect(readCompileReport(bytes({ kind: "failed", threadEnded: true }))).toEqual({ kind: "overran" });
    const problem = { message: "m", line: 1, column: 2 };
    expect(readCompileReport(bytes({ kind: "compiled", problem }))).toEqual({ kind: "compiled", problem });
    expect(() => readCompileReport(bytes(returned))).toThrow(ProtocolError);
  });
});

describe("host calls", () => {
  test("carry calls of bt and of fetch", () => {
    expect(readHostCall(bytes({ to: "bt", method: "tokens.create", args: { a: 1 }, more: 1 }))).toEqual({
      to: "bt",
      method: "tokens.create",
      args: { a: 1 },
    });
    const request = { method: "POST", url: "https://a", headers: [["a", "b"]], body: { base64: "AA==" }, timeoutMs: 5 };
    expect(readHostCall(bytes({ to: "fetch", request }))).toEqual({ to: "fetch", request });
  });

  const bad: readonly [string, Json][] = [
    ["another way out", { to: "exec", method: "rm" }],
    ["another method", { to: "bt", method: "constructor" }],
    ["an invalid request", { to: "fetch", request: null }],
    ["headers that are not pairs", { to: "fetch", request: { method: "GET", url: "x", headers: [["a"]] } }],
    ["too many headers", { to: "fetch", request: { method: "GET", url: "x", headers: Array(501).fill(["a", "b"]) } }],
    ["a body without content", { to: "fetch", request: { method: "GET", url: "x", headers: [], body: {} } }],
    ["an invalid time", { to: "fetch", request: { method: "GET", url: "x", headers: [], timeoutMs: "1" } }],
  ];
  test.each(bad)("%s is rejected", (_name, call) => {
    expect(() => readHostCall(bytes(call))).toThrow(ProtocolError);
  });
});

test("health", () => {
  expect(readHealth(bytes({ rssBytes: 1, threads: 2, queued: 3, more: 4 }))).toEqual({
    rssBytes: 1,
    threads: 2,
    queued: 3,
  });
  expect(() => readHealth(bytes({ rssBytes: -1, threads: 2, queued: 3 }))).toThrow(ProtocolError);
});
