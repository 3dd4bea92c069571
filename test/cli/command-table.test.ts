import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { commandLinePage } from "../../scripts/command-line-page.js";
import { flagsOf } from "../../src/cli/api/command.js";
import { API_COMMANDS } from "../../src/cli/api/commands.js";
import { completionsOf } from "../../src/cli/api/completion.js";
import { OPERATOR_COMMANDS } from "../../src/cli/operator-commands.js";

describe("the tables of commands", () => {
  it("name each command once, and load it", async () => {
    const names = [...API_COMMANDS, ...OPERATOR_COMMANDS].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { load } of API_COMMANDS) expect(await load()).toBeTypeOf("function");
  });

  it("have examples that the command accepts", () => {
    for (const command of API_COMMANDS) {
      for (const example of command.examples ?? []) {
        const flags = [...example.matchAll(/--([\w-]+)/g)].map(([, name]) => name);
        expect(Object.keys(flagsOf(command))).toEqual(expect.arrayContaining(flags));
      }
    }
  });

  it("list the operators' commands as command-line.ts has them", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["dist/src/cli/command-line.js", "--help"]);
    const lines = [...stdout.matchAll(/^ {2}(\S+(?: \S+)?) {2,}(.*)$/gm)];
    expect(OPERATOR_COMMANDS).toEqual(lines.map(([, name, summary]) => ({ name, summary })));
  });

  it("are what docs/command-line.md says", () => {
    expect(readFileSync("docs/command-line.md", "utf8")).toBe(commandLinePage());
  });
});

describe("completionsOf", () => {
  it.each([
    [["tok"], ["tokens"]],
    [["keys", "l"], ["list"]],
    [
      ["tokens", ""],
      ["list", "search", "get", "create", "update", "delete"],
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
    expect(completionsOf(words)).toEqual(found);
  });
});
