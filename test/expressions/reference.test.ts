import { describe, expect, test } from "vitest";
import { parseReference } from "../../src/expressions/reference.js";

const parse = parseReference;

describe("references", () => {
  test.each([
    [
      "d35412f4-9d3b-45d8-b051-fe4b7d4e14c5",
      { form: "data", tokenId: "d35412f4-9d3b-45d8-b051-fe4b7d4e14c5", filters: null },
    ],
    ["  abc  ", { form: "data", tokenId: "abc", filters: null }],
    ["1d0 | json: '$.a|b'", { form: "data", tokenId: "1d0", filters: "json: '$.a|b'" }],
    ["4242 4242 4242 4242", { form: "data", tokenId: "4242 4242 4242 4242", filters: null }],
    ["it's|upcase", { form: "data", tokenId: "it's", filters: "upcase" }],
    ["12:34", { form: "data", tokenId: "12:34", filters: null }],
    ["john.doe@x.org | a | b: 1", { form: "data", tokenId: "john.doe@x.org", filters: "a | b: 1" }],
    ["token: abc", { form: "token", tokenId: "abc", filters: null }],
    ["token:abc|json: '$.data'", { form: "token", tokenId: "abc", filters: "json: '$.data'" }],
    ["token : ab:cd", { form: "token", tokenId: "ab:cd", filters: null }],
    ["token", { form: "data", tokenId: "token", filters: null }],
    ["config: API_KEY", { form: "config", name: "API_KEY", filters: null }],
    ["config: API_KEY | upcase", { form: "config", name: "API_KEY", filters: "upcase" }],
    ["transform_identifier: 'mine'", { form: "transform_identifier", name: "mine", filters: null }],
    ["encrypted | json: '$.data.number'", { form: "encrypted", filters: "json: '$.data.number'" }],
    ["token: encrypted", { form: "token", tokenId: "encrypted", filters: null }],
  ])("%s", (text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test.each([
    ["", "must name a token by its id"],
    ["   ", "must name a token by its id"],
    ["ab", "must name a token by its id"],
    ["| upcase", "must name a token by its id"],
    ["a/b/c", "must name a token by its id"],
    ["data.items[0]", "must name a token by its id"],
    ["token:", "must name a token by its id"],
    ["token: x", "must name a token by its id"],
    ["x".repeat(401), "must name a token by its id"],
    ["abc |", "must name a filter after the |"],
    ["config:", "must give a name after the prefix"],
    ["transform_identifier: ''", "must give a name after the prefix"],
    ["tokn: abc", "must not use an unknown prefix"],
    ["token_intent: abc", "must not use an unknown prefix"],
  ])("%j is not a reference", (text, message) => {
    expect(parse(text)).toEqual({ rejected: expect.stringContaining(message) });
  });

  test("the reason does not repeat the text", () => {
    expect(JSON.stringify(parse("4242/4242"))).not.toContain("4242");
  });
});
