import { parseArgs } from "node:util";
import { type Config, readConfig } from "../settings/config.js";
import { withPresentNames } from "../settings/setting-names.js";
import type { Command, CommandInput, Commands } from "./operator-command.js";
import { printable, printableJson } from "./printable.js";
import { refuseTemplate } from "./template-directory.js";
import { UsageError } from "./usage-error.js";

/** Runs the command that the arguments name, or shows its help. @throws {UsageError} for an invalid call. */
export async function runOperatorCommand(commands: Commands, args: readonly string[]): Promise<void> {
  const [name, load] =
    [...commands].find(([name]) => name.split(" ").every((word, index) => args[index] === word)) ?? [];
  if (name === undefined || load === undefined) throw new UsageError("There is no such command. Run: cloakroom --help");
  const command = await load();
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${helpOf(name, command)}\n`);
    return;
  }
  const { options, operands } = parseOptions(name, command, args.slice(name.split(" ").length));
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const config: Config = readConfig(withPresentNames(process.env, say));
  refuseTemplate(config.dataDir);
  await command.run({
    config,
    ...{ options, operands },
    say,
    printResult: (result) =>
      void process.stdout.write(`${options.json ? printableJson(result) : resultText(result)}\n`),
  });
}

function parseOptions(
  name: string,
  { options, operands = [] }: Command,
  args: readonly string[],
): Pick<CommandInput, "options" | "operands"> {
  try {
    const { values, positionals } = parseArgs({
      ...{ args: [...args], options: { ...options, json: { type: "boolean" } } },
      ...{ strict: true, allowPositionals: operands.length > 0 },
    });
    const least = operands.filter((operand) => !operand.startsWith("[")).length;
    if (positionals.length < least || positionals.length > operands.length)
      throw new Error(`It takes ${operands.join(" ")}`);
    const flat: Record<string, string | boolean | undefined> = {};
    for (const [key, value] of Object.entries(values)) if (!Array.isArray(value)) flat[key] = value;
    return { options: flat, operands: positionals };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "wrong options";
    throw new UsageError(`${reason.replace(/\.?$/, ".")} Run: cloakroom ${name} --help`);
  }
}

function helpOf(name: string, { summary, help, operands = [] }: Command): string {
  const lines = [...help, "--json             print the result as JSON"].map((line) => `  ${line}`);
  return [`Usage: cloakroom ${[name, ...operands].join(" ")} [options]`, "", summary, "", ...lines].join("\n");
}

function resultText(result: unknown): string {
  if (Array.isArray(result)) return result.map((item) => resultText(item)).join("\n\n");
  if (typeof result !== "object" || result === null) return printableLines(result);
  return Object.entries(result)
    .map(([key, value]) => `${key}: ${valueText(value)}`)
    .join("\n");
}

/** Some values have several lines, such as a public key. */
function printableLines(value: unknown): string {
  return String(value).split("\n").map(printable).join("\n");
}

/** Formats a part of a result: one line per list item. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) {
    const isOfThings = value.some((item) => typeof item === "object" && item !== null);
    return isOfThings
      ? value.map((item) => `\n  ${valueText(item)}`).join("")
      : value.map((item) => printableLines(item)).join(", ");
  }
  if (typeof value !== "object" || value === null) return printableLines(value);
  return Object.entries(value)
    .map(([key, part]) => `${key} ${valueText(part)}`)
    .join(", ");
}
