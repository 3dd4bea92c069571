import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/base/json.js";
import {
  parseTransform,
  readTransform,
  type Step,
  type TransformDraft,
  writeTransform,
} from "../../src/proxy/transform.js";
import { faultFields } from "../expressions/faults.js";

const draft = (more: Partial<TransformDraft>): TransformDraft => ({
  ...{ type: undefined, code: undefined, matcher: undefined, expression: undefined, replacement: undefined },
  options: undefined,
  ...more,
});
const parsed = (more: Partial<TransformDraft>) => parseTransform(draft(more), "t", true);
const appending = (value: Json, location: Json) => draft({ type: "append_json", options: { value, location } });

describe("a transform", () => {
  it.each<[string, Partial<TransformDraft>, Step]>([
    ["code, without a type", { code: "c" }, { type: "code", code: "c", isTypeGiven: false, runtime: undefined }],
    [
      "code, by its type",
      { type: "code", code: "c" },
      { type: "code", code: "c", isTypeGiven: true, runtime: undefined },
    ],
    [
      "code with a runtime",
      { code: "c", options: { runtime: { timeout: 5 } } },
      { type: "code", code: "c", isTypeGiven: false, runtime: { timeout: 5 } },
    ],
    [
      "code beside empty fields of a mask",
      { code: "c", matcher: "", expression: "", replacement: "" },
      { type: "code", code: "c", isTypeGiven: false, runtime: undefined },
    ],
    [
      "a mask of card numbers",
      { type: "mask", matcher: "chase_stratus_pan", replacement: "*" },
      { type: "mask", matcher: { kind: "chase_stratus_pan" }, replacement: "*" },
    ],
    [
      "a token to create",
      { type: "tokenize", options: { identifier: "made", token: { data: 1 } } },
      { type: "tokenize", identifier: "made", token: { data: 1 } },
    ],
    ["a null to append", appending(null, "$.a"), { type: "append_json", value: null, location: "$.a" }],
    [
      "a header",
      { type: "append_header", options: { value: "v", location: "X-A" } },
      { type: "append_header", value: "v", location: "X-A" },
    ],
  ])("may be %s", (_, given, transform) => {
    expect(parsed(given)).toEqual(transform);
  });

  it.each<[string, Partial<TransformDraft>, string]>([
    ["code without its text", {}, "t.code"],
    ["code beside the pattern of a mask, which would be ignored", { code: "c", expression: "(a)" }, "t.expression"],
    ["code beside a matcher", { type: "code", code: "c", matcher: "regex" }, "t.matcher"],
    ["code beside a replacement", { code: "c", replacement: "*" }, "t.replacement"],
    ["code with an unknown runtime", { code: "c", options: { runtime: { image: "x" } } }, "t.options.runtime.image"],
    ["an unknown type", { type: "Code", code: "c" }, "t.type"],
    ["a mask without replacement", { type: "mask", matcher: "regex", expression: "(a)" }, "t.replacement"],
    [
      "a mask with an emoji, which is two units",
      { type: "mask", matcher: "regex", expression: "(a)", replacement: "😀" },
      "t.replacement",
    ],
    ["a token that is a text", { type: "tokenize", options: { identifier: "a", token: "x" } }, "t.options.token"],
    ["a token without identifier", { type: "tokenize", options: { token: {} } }, "t.options.identifier"],
    ["a location that is no text", appending(1, 2), "t.options.location"],
    ["an empty location", appending(1, ""), "t.options.location"],
    ["nothing to append", { type: "append_json", options: { location: "$.a" } }, "t.options.value"],
    ["a header without a value", { type: "append_header", options: { location: "X-A" } }, "t.options.value"],
    [
      "a header with a colon in its name",
      { type: "append_header", options: { value: "v", location: "X:A" } },
      "t.options.location",
    ],
  ])("is not %s", (_, given, field) => {
    expect(Object.keys(faultFields(() => parsed(given)) ?? {})).toEqual([field]);
  });

  it("masks responses only", () => {
    const mask = draft({ type: "mask", matcher: "chase_stratus_pan", replacement: "*" });
    expect(faultFields(() => parseTransform(mask, "t", false))).toEqual({
      "t.type": ["must not be mask: only responses can be masked"],
    });
  });

  it("is the same after it was stored", () => {
    const text = fc.string({ minLength: 1 });
    const json = fc.jsonValue().map((value): Json => JSON.parse(JSON.stringify(value)));
    const token = fc.dictionary(fc.string(), json).map((value): JsonObject => JSON.parse(JSON.stringify(value)));
    const transform = fc.oneof(
      fc.record({
        type: fc.constant("code" as const),
        code: text,
        isTypeGiven: fc.boolean(),
        runtime: fc.constantFrom(undefined, {}, { timeout: 3 }),
      }),
      fc.record({ type: fc.constant("tokenize" as const), identifier: text, token }),
      fc.record({ type: fc.constant("append_json" as const), value: json, location: text }),
      fc.record({
        type: fc.constant("append_header" as const),
        value: text,
        location: fc.stringMatching(/^[A-Za-z-]+$/),
      }),
      fc.constantFrom<Step>(
        { type: "mask", matcher: { kind: "chase_stratus_pan" }, replacement: "x" },
        { type: "mask", matcher: { kind: "regex", expression: "a(b)" }, replacement: "*" },
      ),
    );
    fc.assert(
      fc.property(transform, (given) => {
        const stored: Json = JSON.parse(JSON.stringify(writeTransform(given)));
        expect(parseTransform(readTransform(stored), "t", true)).toEqual(given);
      }),
    );
  });

  it("has only the fields of a transform, each of its type, whatever is stored", () => {
    expect(readTransform({ type: "mask", matcher: 1, options: [], more: "x" })).toEqual(draft({ type: "mask" }));
    expect(readTransform("damaged")).toEqual(draft({}));
  });
});
