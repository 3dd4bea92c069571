import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newTenantId } from "../../src/base/ids.js";
import { clientNamesOf, restNamesOf } from "../../src/cli/api/field-names.js";
import { checkPath, partOfResult } from "../../src/cli/api/result-path.js";
import { tableLines, textOf } from "../../src/cli/api/text-table.js";
import { chosenOf } from "../../src/cli/chosen-tenants.js";
import { requiredText } from "../../src/cli/command.js";
import { printable } from "../../src/cli/printable.js";

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
  ])("%j is shown as %j", (value, text) => {
    expect(textOf(value)).toBe(text);
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

describe("a table on a terminal", () => {
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

describe("a part of a result", () => {
  const RESULT = { id: "a", card: { last4: "4242" }, list: [{ id: 1 }, { id: 2 }], none: null };

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

  it.each(["$", "a..b", "[", "[1", "[-1]", "a b", "'a'"])("has no path such as %j", (path) => {
    expect(() => checkPath(path)).toThrow("--query must be a path such as id, card.last4, [0].id or [].id.");
  });

  it("needs an index, or all items, where the result is a list", () => {
    expect(() => partOfResult([RESULT], "id")).toThrow(
      "The result is a list: --query '[].id' prints id of each item, '[0].id'",
    );
    expect(partOfResult([RESULT], "[].id")).toEqual(["a"]);
  });
});

describe("names of fields", () => {
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
        expect(restNamesOf(clientNamesOf(given))).toEqual({ ...given });
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
      expect(restNamesOf(given)).toEqual(given);
      expect(clientNamesOf(given)).toEqual(given);
    }
  });

  it("have times and bytes as texts", () => {
    expect(restNamesOf({ createdAt: new Date(0), publicKey: new Uint8Array([1, 2]) })).toEqual({
      created_at: "1970-01-01T00:00:00.000Z",
      public_key: "AQI=",
    });
  });
});

describe("options of operators' commands", () => {
  const [first, second] = [newTenantId(), newTenantId()];

  it.each([
    ["all tenants without --tenant", {}, [first, second]],
    ["one by its id", { tenant: second }, [second]],
    ["one by its id in capitals", { tenant: second.toUpperCase() }, [second]],
  ])("choose %s", (_, options, chosen) => {
    expect(chosenOf([first, second], options)).toEqual(chosen);
  });

  it.each([newTenantId(), "x", "", true])("choose no tenant by %j", (tenant) => {
    expect(() => chosenOf([first, second], { tenant })).toThrow(
      "--tenant must be the id of a tenant. Run: cloakroom tenants list",
    );
  });

  it.each([undefined, "", " ", true])("are missing if they are %j", (name) => {
    expect(() => requiredText({ name }, "name")).toThrow("--name is missing.");
  });
});
