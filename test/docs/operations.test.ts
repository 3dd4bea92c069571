import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { OPERATOR_COMMANDS } from "../../src/cli/operator-commands.js";
import { cloakroom } from "../support/command.js";

const guide = readFileSync("docs/operations.md", "utf8");

describe("the operator's guide", () => {
  it("names every command and only existing ones, with options that they accept", async () => {
    const help = async (...command: string[]) =>
      (await cloakroom(inject("serverEnvironment"), ...command, "--help")).stdout;
    const there = OPERATOR_COMMANDS.map(({ name }) => name);
    const calls = [...guide.matchAll(/\bcloakroom ([a-z]+(?: [a-z]+(?:-[a-z]+)*)?)((?: --?[^`#&|<\n]*)?)/g)]
      .map(([, words = "", options = ""]) => ({ words, name: there.find((name) => words === name), options }))
      .filter(({ words, name }) => name !== undefined || guide.includes(`\`cloakroom ${words}\``));
    expect(calls.filter(({ name }) => name === undefined)).toEqual([]);
    expect(new Set(calls.map(({ name }) => name))).toEqual(new Set(there));
    const flags = new Map<string, string[]>();
    for (const { name = "", options } of calls) {
      const named = options.match(/--[a-z-]+/g) ?? [];
      if (named.length > 0) flags.set(name, [...(flags.get(name) ?? []), ...named]);
    }
    for (const [name, named] of flags) {
      const known = (await help(...name.split(" "))).match(/--[a-z-]+/g);
      expect(known, name).toEqual(expect.arrayContaining(named));
    }
  });

  it("links only to existing files", () => {
    for (const [, target = ""] of guide.matchAll(/\]\(([^)#]+)\)/g)) {
      expect(existsSync(join("docs", target)), target).toBe(true);
    }
  });
});
