import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toClientNames, toRestNames } from "../../src/cli/api/field-names.js";
import { checkPath, missingStep, partOfResult } from "../../src/cli/api/result-path.js";
import { cellText, tableLines } from "../../src/cli/api/text-table.js";
import { printable, printableJson } from "../../src/cli/printable.js";

describe("a value in one line", () => {
  it.each<[unknown, string]>([
    [undefined, ""],
    [null, ""],
    [0, "0"],
    [false, "false"],
    [["a", "b"], "a, b"],
    [[], ""],
    [["a", 1], '["a",1]'],
    [{ a: [1] }, '{"a":[1]}'],
    ["two\nlines", "two\u{fffd}lines"],
    ["a\u001b[2Jb\nc", "a\ufffd[2Jb\ufffdc"],
    ["\u009b2J \u202eevil\u2066", "\ufffd2J \ufffdevil\ufffd"],
  ])("%j is shown as %j", (value, text) => {
    expect(cellText(value)).toBe(text);
  });

  it("never has a character that steers a terminal or turns text around", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u);
        expect([...printable(text)]).toHaveLength([...text].length);
      }),
    );
  });
});

describe("a table", () => {
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

  it("is as wide as the terminal at most, down to six characters for a column", () => {
    const cell = fc.string({ unit: "grapheme-ascii", maxLength: 40 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { maxLength: 5 }),
        fc.integer({ min: 22, max: 120 }),
        (rows, width) => {
          const lines = tableLines(["id", "name", "type"], rows, width);
          expect(lines).toHaveLength(rows.length + 1);
          for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it("cuts nothing that fits", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1, maxLength: 5 }), (names) => {
        const lines = tableLines(
          ["name"],
          names.map((name) => [name]),
          80,
        );
        expect(lines.slice(1)).toEqual(names);
      }),
    );
  });
});

describe("a result as JSON", () => {
  it("escapes what could steer a terminal, and is the same JSON", () => {
    const value = { name: "a\u001b[2J\u009b\u007f\u202e\u2028 ü 😀", list: ["\n"] };
    const text = printableJson(value);
    expect(text).toMatch(/^[^\p{Cc}\u202e\u2028]*$/u);
    expect(JSON.parse(text)).toEqual(value);
  });
});

describe("a part of a result", () => {
  const RESULT = { id: "a", card: { last4: "4242" }, list: [{ id: 1 }, { id: 2 }], none: null };
  const LIST = [{ id: "a", card: { last4: "4242" } }, { id: "b" }];

  it.each<[string, unknown]>([
    ["", RESULT],
    ["id", "a"],
    [".id", "a"],
    ["card.last4", "4242"],
    ["list[1].id", 2],
    ["list[].id", [1, 2]],
    ["list[]", RESULT.list],
    ["id[0]", undefined],
    ["card[].last4", []],
    ["none.id", undefined],
    ["id.length", undefined],
    ["constructor", undefined],
  ])("at %j is %j", (path, part) => {
    expect(partOfResult(RESULT, path)).toEqual(part);
  });

  it.each([
    ["[0].id", "a"],
    ["[].id", ["a", "b"]],
    ["[].card.last4", ["4242", undefined]],
    [".", LIST],
    ["[7].id", undefined],
    ["[0].toString", undefined],
  ])("at %j of a list is %j", (path, part) => {
    expect(partOfResult(LIST, path)).toEqual(part);
  });

  it.each(["$", "$.a", "a..b", "[", "[1", "[x]", "[-1]", "a b", "'a'"])("has no path such as %j", (path) => {
    const refusal = "--query must be a path such as id, card.last4, [0].id or [].id.";
    expect(() => checkPath(path)).toThrow(refusal);
    expect(() => partOfResult({ a: { b: 1 } }, path)).toThrow(refusal);
  });

  it("needs an index, or all items, where the result is a list", () => {
    expect(() => partOfResult([RESULT], "id")).toThrow(
      "The result is a list: --query '[].id' prints id of each item, '[0].id'",
    );
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
    expect(toRestNames(ofClient)).toEqual({
      created_at: "1970-01-01T00:00:00.000Z",
      search_indexes: ["{{ data }}"],
      metadata: { camelCase: "x", snake_case: "y" },
      data: { firstName: "x" },
      _extras: { deduplicated: false },
    });
  });

  it("become the client's in requests", () => {
    const request = { destination_url: "https://x", configuration: { a_b: "c" }, request_transforms: [{ is_on: 1 }] };
    expect(toClientNames(request)).toEqual({
      destinationUrl: "https://x",
      configuration: { a_b: "c" },
      requestTransforms: [{ isOn: 1 }],
    });
  });

  it("are the same after they became the client's and came back", () => {
    const name = fc.stringMatching(/^[a-z]{2,8}(?:_[a-z]{2,8}){0,2}$/);
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.array(fc.dictionary(name, fc.string()), { maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.dictionary(name, value), (given) => {
        expect(toRestNames(toClientNames(given))).toEqual({ ...given });
      }),
    );
  });

  it("stay as they are within what belongs to callers", () => {
    for (const own of [
      "data",
      "mask",
      "metadata",
      "configuration",
      "settings",
      "errors",
      "args",
      "raw",
      "returned",
      "body",
    ]) {
      const given = { [own]: { camelCase: 1, snake_case: [{ deepName: 2 }] } };
      expect(toRestNames(given)).toEqual(given);
      expect(toClientNames(given)).toEqual(given);
    }
  });

  it("have times and bytes as texts", () => {
    expect(toRestNames({ createdAt: new Date(0), publicKey: new Uint8Array([1, 2]) })).toEqual({
      created_at: "1970-01-01T00:00:00.000Z",
      public_key: "AQI=",
    });
  });
});

it("a path that leads nowhere is named up to its first missing step", () => {
  const token = { id: "a", card: { last4: "4242" }, list: [{ id: 1 }] };
  expect(["nope.x", "card.bin", "list[3].id"].map((path) => missingStep(token, path))).toEqual([
    "nope",
    "card.bin",
    "list[3]",
  ]);
  expect(["id", "card.last4", "list[0].id", "list[].id"].map((path) => missingStep(token, path))).toEqual([
    ...[undefined, undefined, undefined, undefined],
  ]);
});
