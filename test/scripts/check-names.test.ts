import { describe, expect, it } from "vitest";
import { thinNames } from "../../scripts/names/rules.js";

const problemsOf = (texts: Readonly<Record<string, string>>) =>
  thinNames(Object.entries(texts).map(([path, text]) => ({ path, text })));

describe("the check of names", () => {
  it.each([
    [
      "packed fields",
      "export const point = { ...{ x: 1, y: 2 }, z: 3 };",
      'packs fields into "...{ }": write each by itself',
    ],
    ["a bound without a unit", "const MOST = 8;\nexport const least = MOST;", "declares MOST: say of what"],
    ["a bound with another word for it", "export const FEWEST_BITS = 8;", "declares FEWEST_BITS: say of what"],
    ["a function of places", "function placeOf() {}\nplaceOf();", "declares placeOf: say of what"],
    ["a function of texts", "function textOf() {}\ntextOf();", "declares textOf: say of what"],
    ["a function of hashes", "function hashOf() {}\nhashOf();", "declares hashOf: say of what"],
    [
      "a function of five",
      "type Run = (a: 1, b: 2, c: 3, d: 4, e: 5) => void;",
      "has a function of 5 parameters; 4 are allowed",
    ],
    ["a method of five", "class A { constructor(a, b, c, d, e) {} }", "has a function of 5 parameters; 4 are allowed"],
    ["an exported function", "export function timeOf() {}", "exports timeOf: name what it returns or does"],
    ["columns called a place", "const place = { id: 1 };\nfind(place);", "calls an object a place: name what it holds"],
  ])("rejects %s", (_name, text, words) => {
    expect(problemsOf({ "src/base/planted.ts": text })).toEqual([`src/base/planted.ts:1 ${words}`]);
  });

  it("rejects packed attributes", () => {
    const path = "src/web/console/planted.tsx";
    expect(problemsOf({ [path]: "export const link = <a {...{ href, rel }} />;" })).toEqual([
      `${path}:1 packs fields into "...{ }": write each by itself`,
    ]);
    expect(problemsOf({ [path]: "export const link = <a {...props} />;" })).toEqual([]);
  });

  it.each([
    [
      "a position",
      "const feed = { place: 1 };\nread(feed);",
      "calls place a place: it is no place in a text or a document",
    ],
    [
      "a next place",
      "let nextPlace = 1;\nread(nextPlace);",
      "calls nextPlace a place: it is no place in a text or a document",
    ],
    ["a private function", "function timeOf() {}\ntimeOf();", "declares timeOf: name what it returns"],
  ])("rejects %s in the log and the console", (_name, text, words) => {
    const [problem] = problemsOf({ "src/audit/chain/planted.ts": text });
    expect(problem).toBe(`src/audit/chain/planted.ts:1 ${words}`);
    expect(problemsOf({ "src/proxy/planted.ts": text })).toEqual([]);
  });

  it("rejects one name for two exported functions", () => {
    const text = "export function read() {}";
    expect(problemsOf({ "src/base/one.ts": text, "src/store/two.ts": text })).toEqual([
      "read is exported by src/base/one.ts, src/store/two.ts",
    ]);
  });

  it("accepts one name for the same of each payment service", () => {
    const text = "export function providerCodes() {}";
    const paths = ["src/payments/connectors/adyen/error.ts", "src/payments/connectors/stripe/error.ts"];
    expect(problemsOf(Object.fromEntries(paths.map((path) => [path, text])))).toEqual([]);
  });

  it("accepts what tenants' code calls as it calls Node", () => {
    const text = "export const derive = (password, salt, iterations, length, digest) => [];";
    expect(problemsOf({ "src/sandbox/guest/crypto/planted.ts": text })).toEqual([]);
  });

  it("accepts a spread of a value", () => {
    expect(problemsOf({ "src/base/planted.ts": "export const copy = (of: object) => ({ ...of });" })).toEqual([]);
  });
});
