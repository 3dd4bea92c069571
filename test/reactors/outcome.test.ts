import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../src/base/fault.js";
import type { Json } from "../../src/base/json.js";
import { FunctionFailed } from "../../src/functions/function-failed.js";
import {
  afterThrow,
  type RunEnd,
  reactBody,
  readRunResult,
  toRunOutcome,
  writeEnd,
} from "../../src/reactors/outcome.js";
import { returnedObject } from "../../src/reactors/react.js";

const FAILED = new FunctionFailed(402, "Invalid Payment Method", { card: ["is declined"] }, { line: 3, column: 7 });
const REFUSED = new Fault("validation_failed", "args.card must be given", {
  fields: { "args.card": ["must be given"] },
});
const RESPONSE = { status: 418, headers: { "x-pot": "tea" }, body: { short: true } };
const TOKENS = { shown: { id: "t", data: { cvc: "123" } }, kept: { id: "t", data: {} } };

/** The end that is read back from the database. */
const stored = (end: RunEnd): RunEnd => readRunResult(JSON.parse(JSON.stringify(writeEnd(end))));
const show = (error: Fault | FunctionFailed): Json => (error instanceof Fault ? error.code : error.detail);

describe("what follows a run that threw", () => {
  it.each<[string, unknown, boolean, string]>([
    ["an error of its code", FAILED, false, "failed"],
    ["invalid arguments", REFUSED, false, "refused"],
    ["an unknown token", new Fault("not_found", "x"), false, "refused"],
    ["a lost right", new Fault("permission_denied", "x"), false, "refused"],
    ["a sandbox without room", new Fault("unavailable", "x"), false, "postponed"],
    ["a defect", new TypeError("x is not a function"), false, "broken_off"],
    ["a value that is no error", "x", false, "broken_off"],
    ["an error of its code while the server stops", FAILED, true, "postponed"],
    ["a defect while the server stops", new Error("aborted"), true, "postponed"],
  ])("after %s is: %s", (_, error, isStopping, kind) => {
    expect(afterThrow(error, isStopping).kind).toBe(kind);
  });

  it("keeps the defect to report it, which callers never see", () => {
    const defect = new Error("select failed");
    expect(afterThrow(defect, false)).toEqual({ kind: "broken_off", defect });
  });
});

describe("the body that the caller of a run gets", () => {
  it.each<[string, RunEnd, Json]>([
    ["what it returned as raw", { kind: "result", tokens: undefined, raw: [1, "a"] }, { raw: [1, "a"] }],
    ["null as raw", { kind: "result", tokens: undefined, raw: null }, { raw: null }],
    ["tokens with their codes", { kind: "result", tokens: TOKENS, raw: 1 }, { tokens: TOKENS.shown, raw: 1 }],
    ["neither", { kind: "result", tokens: undefined, raw: undefined }, {}],
    ["the code's own response", { kind: "answered", response: RESPONSE }, { short: true }],
    ["an error of the code", { kind: "failed", failure: FAILED }, "Invalid Payment Method"],
    ["a fault", { kind: "refused", fault: REFUSED }, "validation_failed"],
  ])("is %s", (_, end, body) => {
    expect(reactBody(end, show)).toEqual(body);
  });

  it("is the same once it is stored, but for verification codes", () => {
    const ends: readonly RunEnd[] = [
      { kind: "result", tokens: undefined, raw: { deep: [null, { a: 0.1 }] } },
      { kind: "answered", response: RESPONSE },
      { kind: "failed", failure: FAILED },
      { kind: "refused", fault: REFUSED },
    ];
    for (const end of ends) expect(reactBody(stored(end), show)).toEqual(reactBody(end, show));
    expect(reactBody(stored({ kind: "result", tokens: TOKENS, raw: undefined }), show)).toEqual({
      tokens: TOKENS.kept,
    });
  });
});

describe("a stored end", () => {
  it("keeps all that a waiting caller would see of an error", () => {
    const failed = stored({ kind: "failed", failure: FAILED });
    expect(failed).toMatchObject({ failure: { status: 402, detail: "Invalid Payment Method", errors: FAILED.errors } });
    expect(failed).toMatchObject({ failure: { position: { line: 3, column: 7 } } });
    const refused = stored({ kind: "refused", fault: REFUSED });
    expect(refused).toMatchObject({
      fault: { code: "validation_failed", message: REFUSED.message, fields: REFUSED.fields },
    });
    expect(() => toRunOutcome(failed)).toThrow(FunctionFailed);
    expect(() => toRunOutcome(refused)).toThrow(Fault);
  });

  it("keeps status, headers and body of a response, whatever their names", () => {
    const name = fc.oneof(fc.constantFrom("__proto__", "constructor", "x-a"), fc.string());
    const response = fc.record({
      status: fc.integer({ min: 200, max: 599 }),
      headers: fc.array(fc.tuple(name, fc.string())).map((pairs): Record<string, string> => Object.fromEntries(pairs)),
      body: fc.jsonValue().map((value): Json => JSON.parse(JSON.stringify(value))),
    });
    fc.assert(
      fc.property(response, (given) => {
        expect(stored({ kind: "answered", response: given })).toEqual({ kind: "answered", response: given });
      }),
    );
  });

  it.each<[string, Json]>([
    ["a text", "result"],
    ["a list", []],
    ["an unknown kind", { kind: "postponed" }],
    ["a fault with an unknown code", { kind: "refused", code: "teapot", message: "x" }],
  ])("is an error and not a result if it is %s", (_, json) => {
    expect(() => readRunResult(json)).toThrow(/the end of a run/);
  });
});

describe("the value that code returns", () => {
  it.each<[Json]>([[{}], [{ raw: 1 }], [{ tokenize: {} }]])("may be %j", (value) => {
    expect(returnedObject(value)).toBe(value);
  });

  it.each<[Json]>([[null], [1], ["raw"], [true], [[{ raw: 1 }]]])("must be an object, not %j", (value) => {
    expect(() => returnedObject(value)).toThrow(
      expect.objectContaining({
        status: 500,
        errors: { error: ["The code must return an object, with raw or tokenize or both."] },
      }),
    );
  });
});
