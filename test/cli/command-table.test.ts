import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { commandLinePage } from "../../scripts/command-line-page.js";
import { commandFlags } from "../../src/cli/api/api-command.js";
import { API_COMMANDS } from "../../src/cli/api/commands.js";
import { argumentAt, findCompletions } from "../../src/cli/api/completion.js";
import { OPERATOR_COMMANDS } from "../../src/cli/operator-commands.js";

describe("the tables of commands", () => {
  it("name each command once, and load it", async () => {
    const names = [...API_COMMANDS, ...OPERATOR_COMMANDS].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { load } of [...API_COMMANDS, ...OPERATOR_COMMANDS]) expect(await load()).toBeTypeOf("function");
  });

  it("have examples that the command accepts", () => {
    for (const command of API_COMMANDS) {
      for (const example of command.examples ?? []) {
        const flags = [...example.matchAll(/--([\w-]+)/g)].map(([, name]) => name);
        expect(Object.keys(commandFlags(command))).toEqual(expect.arrayContaining(flags));
      }
    }
  });

  it("are what docs/command-line.md says", () => {
    expect(readFileSync("docs/command-line.md", "utf8")).toBe(commandLinePage());
  });
});

describe("findCompletions", () => {
  it.each([
    [["tok"], ["tokens"]],
    [["keys", "l"], ["list"]],
    [
      ["tokens", ""],
      ["list", "search", "get", "create", "import", "export", "update", "delete"],
    ],
    [["audit", "v"], ["verify"]],
    [
      ["tokens", "get", "--re"],
      ["--reveal", "--reason"],
    ],
    [
      ["apps", "create", "--type", "p"],
      ["private", "public"],
    ],
    [["apps", "create", "--name", "p"], []],
    [["tokens", "get", ""], []],
    [["nope", ""], []],
  ])("%j continues with %j", (words, found) => {
    expect(findCompletions(words)).toEqual(found);
  });
});

describe("argumentAt", () => {
  it.each([
    [["tokens", "get", "01"], { before: [], start: "01" }],
    [["tokens", "get", "--reveal", ""], { before: [], start: "" }],
    [
      ["app-keys", "get", "--profile", "a", "b", "c"],
      { before: ["b"], start: "c", options: new Map([["profile", "a"]]) },
    ],
    [["tokens", "get", "--url=http://x", ""], { options: new Map([["url", "http://x"]]) }],
  ])("%j is in an argument", (words, argument) => {
    expect(argumentAt(words)).toMatchObject(argument);
  });

  it.each([
    [["tokens", "get"]],
    [["tokens", "get", "a", ""]],
    [["tokens", "get", "--re"]],
    [["tokens", "get", "--query", ""]],
    [["tokens", "list", ""]],
    [["nope", ""]],
  ])("%j is not", (words) => {
    expect(argumentAt(words)).toBeUndefined();
  });
});
