import { describe, expect, it } from "vitest";
import { newTenantId } from "../../src/base/ids.js";
import type { ApiCommand } from "../../src/cli/api/api-command.js";
import { parseArguments } from "../../src/cli/api/arguments.js";
import { completionScript } from "../../src/cli/api/completion.js";
import { chooseTenants } from "../../src/cli/chosen-tenants.js";
import { requiredText } from "../../src/cli/operator-command.js";
import { UsageError } from "../../src/cli/usage-error.js";

const COMMAND: ApiCommand = {
  ...{ name: "things paint", summary: "Paint a thing", arguments: ["ID", "[COLOR]"] },
  flags: {
    color: { kind: "text", meaning: "the color", value: "COLOR", choices: ["red", "blue"] },
    layer: { kind: "list", meaning: "a layer" },
    times: { kind: "whole", meaning: "how often", value: "N" },
    wet: { kind: "switch", meaning: "while it is wet" },
  },
  load: () => Promise.reject(new Error("not loaded")),
};

/** The arguments and options as they are read, or the message of the refusal. */
function read(...args: readonly string[]): unknown {
  try {
    const { positionals, flags } = parseArguments(COMMAND, args);
    return [positionals, Object.fromEntries(flags)];
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

describe("the arguments of a command", () => {
  it.each<[readonly string[], readonly string[], object]>([
    [["a"], ["a"], {}],
    [["a", "red"], ["a", "red"], {}],
    [["a", "--color", "red"], ["a"], { color: ["red"] }],
    [["--color=blue", "a"], ["a"], { color: ["blue"] }],
    [["a", "--layer", "1", "--layer=2"], ["a"], { layer: ["1", "2"] }],
    [["a", "--wet", "--wet"], ["a"], { wet: ["true"] }],
    [["a", "--layer="], ["a"], { layer: [""] }],
    [["a", "--layer", "-"], ["a"], { layer: ["-"] }],
    [["a", "--layer=--wet"], ["a"], { layer: ["--wet"] }],
    [["a", "--json", "--query", "[].id"], ["a"], { json: ["true"], query: ["[].id"] }],
    [["--", "--wet"], ["--wet"], {}],
    [["-h"], [], { help: ["true"] }],
    [["--help"], [], { help: ["true"] }],
    [["-"], ["-"], {}],
  ])("%j are read", (args, positionals, flags) => {
    expect(read(...args)).toEqual([positionals, flags]);
  });

  it.each<[readonly string[], string]>([
    [[], "ID is missing: cloakroom things paint ID [COLOR]"],
    [["a", "b", "c"], "There is an argument too many: cloakroom things paint ID [COLOR]"],
    [["a", "--color"], "--color needs a value: --color COLOR"],
    [["a", "--layer"], "--layer needs a value: --layer VALUE"],
    [["a", "--color", "--wet"], "--color needs a value: --color COLOR"],
    [["a", "--color", "-x"], "--color needs a value: --color COLOR"],
    [["a", "--color", "green"], "--color must be one of: red, blue."],
    [["a", "--times", "1", "--times", "2"], "--times was given twice."],
    [["a", "--wet=yes"], "--wet takes no value."],
    [["a", "--colr", "red"], "There is no option --colr. Did you mean --color? Run: cloakroom things paint --help"],
    [["a", "-c"], "There is no option -c. Run: cloakroom things paint --help"],
    [["a", "--constructor=x"], "There is no option --constructor. Run: cloakroom things paint --help"],
    [["a", "--toString", "x"], "There is no option --toString. Run: cloakroom things paint --help"],
  ])("%j are refused", (args, message) => {
    expect(read(...args)).toBe(message);
  });

  it("are never repeated in a refusal, because they may be secrets", () => {
    const secret = "4242424242424242";
    for (const args of [
      ["a", `--wet=${secret}`],
      ["a", "--color", secret],
      ["a", secret, secret],
      ["a", `--nope=${secret}`],
    ]) {
      expect(String(read(...args))).not.toContain(secret);
    }
  });
});

describe("the completion script", () => {
  it.each(["bash", "zsh", "fish"])("exists for %s, and asks the program", (shell) => {
    expect(completionScript(shell)).toContain("cloakroom __complete --");
  });

  it.each([undefined, "", "tcsh", "constructor", "__proto__"])("does not exist for %s", (shell) => {
    expect(() => completionScript(shell)).toThrow("Usage: cloakroom completion bash, zsh or fish");
  });
});

describe("options of operators' commands", () => {
  const [first, second] = [newTenantId(), newTenantId()];

  it.each([
    ["all tenants without --tenant", {}, [first, second]],
    ["one by its id", { tenant: second }, [second]],
    ["one by its id in capitals", { tenant: second.toUpperCase() }, [second]],
  ])("choose %s", (_, options, chosen) => {
    expect(chooseTenants([first, second], options)).toEqual(chosen);
  });

  it.each([newTenantId(), "x", "", true])("choose no tenant by %j", (tenant) => {
    expect(() => chooseTenants([first, second], { tenant })).toThrow(
      "--tenant must be the id of a tenant. Run: cloakroom tenants list",
    );
  });

  it.each([undefined, "", " ", true])("are missing if they are %j", (name) => {
    expect(() => requiredText({ name }, "name")).toThrow("--name is missing.");
  });
});
