import { parseArgs } from "node:util";
import { type Config, readConfig } from "../config.js";
import { type Command, UsageError } from "./command.js";

/** Runs the command that the arguments name. The exit code is 2 for a wrong call. */
export async function runCommand(commands: readonly Command[], args: readonly string[]): Promise<void> {
  const command = commands.find(({ name }) => name.split(" ").every((word, index) => args[index] === word));
  const wantsHelp = args.includes("--help") || args.length === 0 || args[0] === "help";
  if (!command) {
    const ofGroup = commands.filter(({ name }) => name.startsWith(`${args[0]} `));
    (wantsHelp ? process.stdout : process.stderr).write(`${overview(ofGroup.length > 0 ? ofGroup : commands)}\n`);
    if (!wantsHelp) {
      process.stderr.write(`There is no command "${args.join(" ")}".\n`);
      process.exitCode = 2;
    }
    return;
  }
  if (wantsHelp) {
    process.stdout.write(`${helpOf(command)}\n`);
    return;
  }
  const options = parseOptions(command, args.slice(command.name.split(" ").length));
  const config: Config = readConfig(process.env);
  await command.run({
    config,
    options,
    say: (line) => void process.stderr.write(`${line}\n`),
    answer: (result) => void process.stdout.write(`${options.json ? JSON.stringify(result) : inLines(result)}\n`),
  });
}

function parseOptions(
  { name, options }: Command,
  args: readonly string[],
): Record<string, string | boolean | undefined> {
  try {
    const { values } = parseArgs({ args: [...args], options: { ...options, json: { type: "boolean" } }, strict: true });
    const flat: Record<string, string | boolean | undefined> = {};
    for (const [key, value] of Object.entries(values)) if (!Array.isArray(value)) flat[key] = value;
    return flat;
  } catch (error) {
    const reason = error instanceof Error ? error.message : "wrong options";
    throw new UsageError(`${reason.replace(/\.?$/, ".")} Run: cloakroom ${name} --help`);
  }
}

function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    "Usage: cloakroom <command> [options]",
    "",
    ...lines,
    "",
    "cloakroom <command> --help tells what a command takes.",
  ].join("\n");
}

function helpOf({ name, summary, help }: Command): string {
  const lines = [...help, "--json             print the result as JSON"].map((line) => `  ${line}`);
  return [`Usage: cloakroom ${name} [options]`, "", summary, "", ...lines].join("\n");
}

function inLines(result: unknown): string {
  if (Array.isArray(result)) return result.map((item) => inLines(item)).join("\n\n");
  if (typeof result !== "object" || result === null) return String(result);
  return Object.entries(result)
    .map(([key, value]) => `${key}: ${inLine(value)}`)
    .join("\n");
}

/** A part of a result: lists of things have a line for each. */
function inLine(value: unknown): string {
  if (Array.isArray(value)) {
    const isOfThings = value.some((item) => typeof item === "object" && item !== null);
    return isOfThings ? value.map((item) => `\n  ${inLine(item)}`).join("") : value.join(", ");
  }
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([key, part]) => `${key} ${inLine(part)}`)
    .join(", ");
}
