import { describe, expect, it } from "vitest";
import { clientNamesOf, restNamesOf } from "../../src/cli/api/field-names.js";
import { partOfResult } from "../../src/cli/api/result-path.js";
import { tableLines, textOf } from "../../src/cli/api/text-table.js";
import { printableJson } from "../../src/cli/printable.js";

describe("tableLines", () => {
  const rows = [
    ["1", "a name that is long"],
    ["22", "short"],
  ];

  it("has a header and aligned columns on a terminal", () => {
    expect(tableLines(["id", "name"], rows, 80)).toEqual(["ID  NAME", "1   a name that is long", "22  short"]);
  });

  it("cuts the widest column where the terminal is narrow", () => {
    expect(tableLines(["id", "name"], rows, 14)).toEqual(["ID  NAME", "1   a name th…", "22  short"]);
  });

  it("has tabs and no header where there is no terminal", () => {
    expect(tableLines(["id", "name"], rows, undefined)).toEqual(["1\ta name that is long", "22\tshort"]);
  });

  it("has no control characters of the names that people gave", () => {
    expect(textOf("a\u001b[2Jb\nc")).toBe("a\ufffd[2Jb\ufffdc");
    expect(textOf("\u009b2J \u202eevil\u2066")).toBe("\ufffd2J \ufffdevil\ufffd");
  });
});

describe("printableJson", () => {
  it("escapes what could steer a terminal, and is the same JSON", () => {
    const value = { name: "a\u001b[2J\u009b\u007f\u202e\u2028 ü 😀", list: ["\n"] };
    const text = printableJson(value);
    expect(text).toMatch(/^[^\p{Cc}\u202e\u2028]*$/u);
    expect(JSON.parse(text)).toEqual(value);
  });
});

describe("partOfResult", () => {
  const result = [{ id: "a", card: { last4: "4242" } }, { id: "b" }];

  it.each([
    ["[0].id", "a"],
    ["[].id", ["a", "b"]],
    ["[].card.last4", ["4242", undefined]],
    [".", result],
    ["[7].id", undefined],
    ["[0].toString", undefined],
  ])("%s", (path, part) => {
    expect(partOfResult(result, path)).toEqual(part);
  });

  it("refuses a name where the result is a list", () => {
    expect(() => partOfResult(result, "id")).toThrow("--query '[].id' prints id of each item");
  });

  it.each(["a..b", "[x]", "a b", "$.a"])("refuses %j", (path) => {
    expect(() => partOfResult({ a: { b: 1 } }, path)).toThrow("--query must be a path");
  });
});

describe("names of fields", () => {
  const ofClient = {
    createdAt: new Date(0),
    searchIndexes: ["{{ data }}"],
    metadata: { camelCase: "x", snake_case: "y" },
    data: { firstName: "x" },
    extras: { deduplicated: false },
    key: undefined,
  };

  it("are those of the REST API, and inside data and metadata the caller's", () => {
    expect(restNamesOf(ofClient)).toEqual({
      created_at: "1970-01-01T00:00:00.000Z",
      search_indexes: ["{{ data }}"],
      metadata: { camelCase: "x", snake_case: "y" },
      data: { firstName: "x" },
      _extras: { deduplicated: false },
    });
  });

  it("become the client's in requests", () => {
    const request = { destination_url: "https://x", configuration: { a_b: "c" }, request_transforms: [{ is_on: 1 }] };
    expect(clientNamesOf(request)).toEqual({
      destinationUrl: "https://x",
      configuration: { a_b: "c" },
      requestTransforms: [{ isOn: 1 }],
    });
  });
});
