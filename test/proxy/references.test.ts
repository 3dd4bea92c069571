import { describe, expect, it } from "vitest";
import { Fault } from "../../src/base/fault.js";
import { MAX_TOKENS, RequestReferences } from "../../src/proxy/references.js";
import { MAX_EXPRESSIONS } from "../../src/proxy/splice/place.js";
import { placesInText } from "../../src/proxy/splice/plain.js";
import { placesInPath } from "../../src/proxy/splice/url.js";

/** Scans texts by their field names, and keeps what they become. */
function scanned(texts: Readonly<Record<string, string>>, find = placesInText) {
  const references = new RequestReferences();
  const taken: Record<string, string> = {};
  for (const [field, text] of Object.entries(texts)) {
    const take = (replaced: string) => {
      taken[field] = replaced;
    };
    references.scan({ field, text, find, positionOf: (offset) => `character ${offset + 1}`, take });
  }
  return { references, taken };
}

/** The fields of the fault, or its message without fields. */
function refusal(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault && error.code === "validation_failed") return error.fields ?? error.message;
    throw error;
  }
  throw new Error("expected a fault");
}

describe("the tokens that a request refers to", () => {
  it("are each named once, from all of its texts", () => {
    const { references } = scanned({
      path: "/{{ one }}",
      body: "{{ two | last4 }} {{ token: one }} {{ config: x }}",
      query: "none",
    });
    expect(references.tokenIds()).toEqual(["one", "two"]);
  });

  it("are at most a hundred, however often each is used", () => {
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `{{ id${index} }}`).join("");
    expect(scanned({ body: ids(MAX_TOKENS) + ids(MAX_TOKENS) }).references.tokenIds()).toHaveLength(MAX_TOKENS);
    const { references } = scanned({ path: "{{ another }}", body: ids(MAX_TOKENS) });
    expect(refusal(() => references.tokenIds())).toBe(
      "A request may refer to at most 100 tokens; this one refers to 101.",
    );
  });
});

describe("a text with references", () => {
  it("becomes its text with the values of the configuration", () => {
    const { references, taken } = scanned({ body: "a {{ config: KEY }} b {{config: KEY}}", path: "/unchanged" });
    references.resolve(() => undefined, { KEY: "v" });
    expect(taken).toEqual({ body: "a v b v" });
  });

  it.each([
    ["an entry that is not there", "{{ config: OTHER }}", /must name an entry of the configuration/],
    ["an entry that every object inherits", "{{ config: constructor }}", /must name an entry of the configuration/],
    ["an entry with a filter", "{{ config: KEY | last4 }}", /without filters/],
    ["an encrypted header", "{{ encrypted }}", /must not use the encrypted expression/],
    ["a step", "{{ transform_identifier: 'a' }}", /must not use the transform_identifier expression/],
    ["a token that is not there", "{{ tok }}", /must refer to tokens that exist/],
  ])("is refused with its place for %s", (_, text, words) => {
    const { references } = scanned({ "headers.X-A": `ab ${text}` });
    const fields = refusal(() => references.resolve(() => undefined, { KEY: "v" }));
    expect(fields).toEqual({ "headers.X-A": [expect.stringMatching(words)] });
    expect(JSON.stringify(fields)).toContain("character 4");
  });

  it.each([
    ["a filter that is missing", "{{ tok | }}", /must name a filter after the \|/],
    ["an unknown prefix", "{{ card: tok }}", /must not use an unknown prefix/],
    ["nothing", "{{ }}", /must name a token by its id/],
  ])("is refused before anything is loaded for %s", (_, text, words) => {
    expect(refusal(() => scanned({ body: text }))).toEqual({ body: [expect.stringMatching(words)] });
  });

  it("has at most 2,000 expressions in the whole request", () => {
    const many = (count: number) => "{{ one }}".repeat(count);
    expect(() => scanned({ body: many(MAX_EXPRESSIONS) })).not.toThrow();
    expect(refusal(() => scanned({ path: "{{ one }}", body: many(MAX_EXPRESSIONS) }))).toEqual({
      body: ["must hold at most 2000 expressions"],
    });
  });

  it.each([
    ["plain", "{{", placesInText],
    ["percent-encoded", "%7B%7b", placesInPath],
    ["mixed", "{%7B", placesInPath],
  ])("has at most 10,000 opening braces before they are looked at: %s", (_, braces, find) => {
    expect(refusal(() => scanned({ body: braces.repeat(20_001) }, find))).toEqual({
      body: ["must hold at most 10000 opening braces {{"],
    });
  });

  it("is finished before the callbacks for later run, in their order", () => {
    const { references, taken } = scanned({ body: "{{ config: A }}" });
    const seen: string[] = [];
    references.afterwards(() => seen.push(`first ${taken.body}`));
    references.afterwards(() => seen.push("second"));
    references.resolve(() => undefined, { A: "1" });
    expect(seen).toEqual(["first 1", "second"]);
  });
});
