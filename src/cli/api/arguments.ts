import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { suggestionFor } from "../../base/suggestion.js";
import { UsageError } from "../usage-error.js";
import { type ApiCommand, commandFlags } from "./api-command.js";
import type { CommandArguments } from "./command-arguments.js";

/** @throws {UsageError} for what the command does not take. No message repeats a value, which may be a secret. */
export function parseArguments(command: ApiCommand, args: readonly string[]): CommandArguments {
  const flags = commandFlags(command);
  const options: ParseArgsOptionsConfig = { h: { type: "boolean", short: "h" } };
  for (const [name, { kind }] of Object.entries(flags)) {
    options[name] = { type: kind === "switch" ? "boolean" : "string" };
  }
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const given = new Map<string, readonly string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const name = token.name === "h" ? "help" : token.name;
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
    if (!flag) throw unknownOption(command, token.rawName);
    if (flag.kind === "switch") {
      if (token.value !== undefined) throw new UsageError(`--${name} takes no value.`);
      given.set(name, ["true"]);
      continue;
    }
    const value = token.value;
    const isMissing = value === undefined || (!token.inlineValue && /^-./.test(value));
    if (isMissing) throw new UsageError(`--${name} needs a value: --${name} ${flag.value ?? "VALUE"}`);
    if (flag.kind !== "list" && given.has(name)) throw new UsageError(`--${name} was given twice.`);
    if (flag.choices && !flag.choices.includes(value)) {
      throw new UsageError(`--${name} must be one of: ${flag.choices.join(", ")}.`);
    }
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  if (!given.has("help")) checkCount(command, positionals);
  return { positionals, flags: given };
}

function checkCount(command: ApiCommand, positionals: readonly string[]): void {
  const { name, arguments: wanted = [] } = command;
  const usage = [`cloakroom ${name}`, ...wanted].join(" ");
  const missing = wanted[positionals.length];
  if (missing !== undefined && !missing.startsWith("[")) throw new UsageError(`${missing} is missing: ${usage}`);
  if (positionals.length > wanted.length) throw new UsageError(`There is an argument too many: ${usage}`);
}

function unknownOption(command: ApiCommand, given: string): UsageError {
  const names = Object.keys(commandFlags(command)).map((name) => `--${name}`);
  const close = suggestionFor(given, names);
  const hint = close === undefined ? "" : ` Did you mean ${close}?`;
  return new UsageError(`There is no option ${given}.${hint} Run: cloakroom ${command.name} --help`);
}
