import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { isLocation, setAtLocation } from "../../src/proxy/json-location.js";
import { faultFields } from "../expressions/faults.js";

describe("setting a value at a location of a body", () => {
  it.each<[Json, string, Json]>([
    [{ a: 1 }, "$.b", { a: 1, b: "v" }],
    [{ a: 1 }, "a", { a: "v" }],
    [{ a: { b: 1, c: 2 } }, "$.a.b", { a: { b: "v", c: 2 } }],
    [{}, "$.a.b.c", { a: { b: { c: "v" } } }],
    [{ a: [1, 2] }, "$.a[0]", { a: ["v", 2] }],
    [{ a: [1, 2] }, "$.a[2]", { a: [1, 2, "v"] }],
    [{ a: [1] }, "$.a[99]", { a: [1, "v"] }],
    [{ a: [{ b: 1 }] }, "$.a[0].c", { a: [{ b: 1, c: "v" }] }],
    [{ a: [] }, "$.a[0].c", { a: [{ c: "v" }] }],
    [{}, "$['a.b']", { "a.b": "v" }],
    [{}, '$["a b"][0]', { "a b": { 0: "v" } }],
    [{ a: 5 }, "$.a.b", { a: { b: "v" } }],
    [{ a: null }, "$.a.b", { a: { b: "v" } }],
    [[1], "$[0]", ["v"]],
    [[1], "$.name", [1, "v"]],
    ["text", "$.a", { a: "v" }],
    [null, "$.a", { a: "v" }],
  ])("makes of %j at %s: %j", (body, location, expected) => {
    expect(isLocation(location)).toBe(true);
    expect(setAtLocation(body, location, "v")).toEqual(expected);
  });

  it("creates members of any name, and changes nothing that objects inherit", () => {
    const made = setAtLocation({}, "$.__proto__.polluted", true);
    expect(JSON.stringify(made)).toBe('{"__proto__":{"polluted":true}}');
    expect(JSON.stringify(setAtLocation({}, "$.constructor.prototype.polluted", 1))).toBe(
      '{"constructor":{"prototype":{"polluted":1}}}',
    );
    expect("polluted" in {}).toBe(false);
  });

  it("leaves the body that it was given unchanged, and every other member as it was", () => {
    const name = fc.stringMatching(/^[a-z]{1,3}$/);
    const body = fc.dictionary(name, fc.jsonValue()).map((value): Json => JSON.parse(JSON.stringify(value)));
    fc.assert(
      fc.property(body, name, (given, step) => {
        const before = JSON.stringify(given);
        const after = setAtLocation(given, `$.${step}`, "v");
        expect(JSON.stringify(given)).toBe(before);
        expect(after).toEqual({ ...Object(given), [step]: "v" });
      }),
    );
  });

  it("fails without a location, which earlier versions stored", () => {
    expect(Object.keys(faultFields(() => setAtLocation({}, "$", "v")) ?? {})).toEqual(["location"]);
  });
});

describe("a location", () => {
  it.each([
    "",
    "$",
    "$.",
    "$.a.",
    "$..a",
    "$.*",
    "$.a[*]",
    "$.a[-1]",
    "$.a[0:1]",
    "$.a['b",
    "$['']",
    "a b[",
    "$.a[?(@.b)]",
  ])("has no wildcards, slices, filters or empty steps: %j", (location) => {
    expect(isLocation(location)).toBe(false);
  });

  it("has at most 1,000 characters", () => {
    expect(isLocation(`$.${"a".repeat(998)}`)).toBe(true);
    expect(isLocation(`$.${"a".repeat(999)}`)).toBe(false);
  });
});
