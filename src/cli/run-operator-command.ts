import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { terminal } from "../base/terminal.js";
import { type Config, readConfig } from "../settings/config.js";
import { type CommandInput, OPERATOR_FLAGS, type OperatorCommand } from "./operator-command.js";
import { printableJson, printableLines } from "./printable.js";
import { refuseTemplate } from "./template-directory.js";
import { UsageError } from "./usage-error.js";

/** Runs a command. @throws {UsageError} for an invalid call. */
export async function runOperatorCommand(command: OperatorCommand, args: readonly string[]): Promise<void> {
  const { options, operands } = parseOptions(command, args.slice(command.name.split(" ").length));
  const say = (line: string) => void terminal().stderr.write(`${printableLines(line)}\n`);
  const config: Config = readConfig(terminal().env);
  refuseTemplate(config.dataDir);
  const run = await command.load();
  await run({
    config,
    options,
    operands,
    say,
    printResult: (result) =>
      void terminal().stdout.write(`${options.json ? printableJson(result) : resultText(result)}\n`),
  });
}

function parseOptions(
  { name, flags, arguments: wanted = [] }: OperatorCommand,
  args: readonly string[],
): Pick<CommandInput, "options" | "operands"> {
  const taken: ParseArgsOptionsConfig = {};
  for (const [flag, { kind }] of Object.entries({ ...flags, ...OPERATOR_FLAGS })) {
    taken[flag] = { type: kind === "switch" ? "boolean" : "string" };
  }
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: taken,
      strict: true,
      allowPositionals: wanted.length > 0,
    });
    const least = wanted.filter((argument) => !argument.startsWith("[")).length;
    if (positionals.length < least || positionals.length > wanted.length)
      throw new Error(`It takes ${wanted.join(" ")}`);
    const options: Record<string, string | boolean | undefined> = {};
    for (const [key, value] of Object.entries(values)) if (!Array.isArray(value)) options[key] = value;
    return { options, operands: positionals };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "wrong options";
    throw new UsageError(`${reason.replace(/\.?$/, ".")} Run: cloakroom ${name} --help`);
  }
}

function resultText(result: unknown): string {
  if (Array.isArray(result)) return result.map((item) => resultText(item)).join("\n\n");
  if (typeof result !== "object" || result === null) return printableLines(String(result));
  return Object.entries(result)
    .map(([key, value]) => `${key}: ${valueText(value)}`)
    .join("\n");
}

/** Formats a part of a result: one line per list item. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) {
    const isOfThings = value.some((item) => typeof item === "object" && item !== null);
    return isOfThings
      ? value.map((item) => `\n  ${valueText(item)}`).join("")
      : value.map((item) => printableLines(String(item))).join(", ");
  }
  if (typeof value !== "object" || value === null) return printableLines(String(value));
  return Object.entries(value)
    .map(([key, part]) => `${key} ${valueText(part)}`)
    .join(", ");
}
