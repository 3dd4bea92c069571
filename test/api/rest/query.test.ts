import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CreateTokenRequestSchema, ListTokensRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { compileQueryReader, type QueryReader } from "../../../src/api/rest/query.js";

const readList = compileQueryReader(ListTokensRequestSchema, [], "reported");
const readToken = compileQueryReader(CreateTokenRequestSchema, ["type"]);

/** The fields that a query sets, and what it reports. Lists begin empty, as in a message. */
function read(query: string, reader: QueryReader = readList, lists: readonly string[] = ["id", "type"]) {
  const fields: Record<string, unknown> = Object.fromEntries(lists.map((name) => [name, []]));
  const faults: Record<string, string> = {};
  reader(query, fields, (name, text) => {
    faults[name] = text;
  });
  const set = Object.entries(fields).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return { fields: Object.fromEntries(set), faults };
}

describe("a query", () => {
  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["", {}],
    ["id=a", { id: ["a"] }],
    ["id=a&id=b&id=a", { id: ["a", "b", "a"] }],
    ["id=a%2Fb+c", { id: ["a/b c"] }],
    ["id=", { id: [""] }],
    ["page=2&size=100", { page: 2, size: 100 }],
    ["page=-1", { page: -1 }],
    ["page=2147483647", { page: 2_147_483_647 }],
    ["metadata.color=red", { metadata: { color: "red" } }],
    ["metadata[color]=red&metadata[size]=L", { metadata: { color: "red", size: "L" } }],
    ["metadata.a.b[c]=1", { metadata: { "a.b[c]": "1" } }],
    ["metadata[a]b]=1", { metadata: { "a]b": "1" } }],
    ['metadata={"color":"red","a.b":""}', { metadata: { color: "red", "a.b": "" } }],
    ["metadata={}", { metadata: {} }],
    ["metadata.color=red&metadata.color=blue", { metadata: { color: "red" } }],
    ['metadata.color=red&metadata={"color":"blue","x":"y"}', { metadata: { color: "red", x: "y" } }],
    ["metadata.=1&metadata[b]=2", { metadata: { b: "2" } }],
  ])("%s sets %j", (query, fields) => {
    expect(read(query).fields).toEqual(fields);
  });

  it.each([
    ["page=two", "page", "must be a whole number"],
    ["page=2&page=3", "page", "must be given once"],
    ["page=2&page=2", "page", "must be given once"],
    ["page=1.5", "page", "must be a whole number"],
    ["page=", "page", "must be a whole number"],
    ["page=1e3", "page", "must be a whole number"],
    ["page=0x10", "page", "must be a whole number"],
    ["page=2147483648", "page", "must be from -2147483647 to 2147483647"],
    ["page=99999999999999999999", "page", "must be from -2147483647 to 2147483647"],
    ["metadata.=1", "metadata.", "must be spelled metadata.key or metadata[key]"],
    ["metadata[]=1", "metadata[]", "must be spelled metadata.key or metadata[key]"],
    ["metadata[a=1", "metadata[a", "must be spelled metadata.key or metadata[key]"],
    ["metadata=red", "metadata", "must be a JSON object of strings, or be spelled metadata.key=value"],
    ["metadata=[]", "metadata", "must be a JSON object of strings, or be spelled metadata.key=value"],
    ['metadata={"a":1}', "metadata", "must be a JSON object of strings, or be spelled metadata.key=value"],
    ["pages=1", "pages", "is not a parameter here: known are id, metadata, page, size, type"],
    ["id.x=1", "id.x", "is not a parameter here: known are id, metadata, page, size, type"],
    ["constructor=1", "constructor", "is not a parameter here: known are id, metadata, page, size, type"],
  ])("%s is refused, naming %s", (query, name, text) => {
    expect(read(query).faults).toEqual({ [name]: text });
  });

  it.each([
    ["deduplicate_token=true", { deduplicateToken: true }, {}],
    ["deduplicate_token=false", { deduplicateToken: false }, {}],
    ["deduplicate_token=1", { deduplicateToken: false }, { deduplicate_token: "must be true or false" }],
    // A variable of the path, and a name of other programs, which operations that change nothing ignore.
    ["type=card&utm_source=x", {}, {}],
    ["expires_at=2030-01-01", { expiresAt: "2030-01-01" }, {}],
  ])("%s sets %j and reports %j", (query, fields, faults) => {
    expect(read(query, readToken, [])).toEqual({ fields, faults });
  });

  it("takes no parameters where the path has all fields", () => {
    const reader = compileQueryReader(ListTokensRequestSchema, ["id", "metadata", "page", "size", "type"], "reported");
    expect(read("size=1", reader).faults).toEqual({ size: "is not a parameter here: this path takes no parameters" });
  });

  it("reads back every map that it is given, in each of its spellings", () => {
    const key = fc.string({ minLength: 1 });
    fc.assert(
      fc.property(fc.dictionary(key, fc.string(), { minKeys: 1, maxKeys: 5 }), (map) => {
        fc.pre(
          Object.entries(map)
            .flat()
            .every((text) => text.isWellFormed()),
        );
        const spelled = [
          new URLSearchParams(
            Object.entries(map).map(([name, value]): [string, string] => [`metadata.${name}`, value]),
          ),
          new URLSearchParams(
            Object.entries(map).map(([name, value]): [string, string] => [`metadata[${name}]`, value]),
          ),
          new URLSearchParams([["metadata", JSON.stringify(map)]]),
        ];
        for (const query of spelled) expect(read(query.toString())).toEqual({ fields: { metadata: map }, faults: {} });
      }),
    );
  });
});
