import { parseArgs } from "node:util";
import { type Config, readConfig } from "../settings/config.js";
import { withPresentNames } from "../settings/environment.js";
import { type Command, type CommandInput, type Commands, UsageError } from "./command.js";
import { readVersion } from "./version.js";

/** Runs the command that the arguments name. The exit code is 2 for an invalid call. */
export async function runCommand(commands: Commands, args: readonly string[]): Promise<void> {
  if (["--version", "-V", "version"].includes(args[0] ?? "")) return showVersion(args.includes("--json"));
  const [name, load] =
    [...commands].find(([name]) => name.split(" ").every((word, index) => args[index] === word)) ?? [];
  const wantsHelp = args.includes("--help") || args.length === 0 || args[0] === "help";
  if (name === undefined || load === undefined) {
    const ofGroup = [...commands].filter(([name]) => name.startsWith(`${args[0]} `));
    const shown = await overview(new Map(ofGroup.length > 0 ? ofGroup : commands));
    (wantsHelp ? process.stdout : process.stderr).write(`${shown}\n`);
    if (!wantsHelp) {
      process.stderr.write(`There is no command "${args.join(" ")}".\n`);
      process.exitCode = 2;
    }
    return;
  }
  const command = await load();
  if (wantsHelp) {
    process.stdout.write(`${helpOf(name, command)}\n`);
    return;
  }
  const { options, operands } = parseOptions(name, command, args.slice(name.split(" ").length));
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const config: Config = readConfig(withPresentNames(process.env, say));
  await command.run({
    config,
    ...{ options, operands },
    say,
    answer: (result) => void process.stdout.write(`${options.json ? JSON.stringify(result) : inLines(result)}\n`),
  });
}

function showVersion(asJson: boolean): void {
  const { version, node, platform } = readVersion();
  const line = asJson
    ? JSON.stringify({ version, node, platform })
    : `cloakroom ${version} (Node.js ${node}, ${platform})`;
  process.stdout.write(`${line}\n`);
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

async function overview(commands: Commands): Promise<string> {
  const width = Math.max(...[...commands.keys()].map((name) => name.length));
  const lines = await Promise.all(
    [...commands].map(async ([name, load]) => `  ${name.padEnd(width)}  ${(await load()).summary}`),
  );
  return [
    "Usage: cloakroom <command> [options]",
    "",
    ...lines,
    "",
    "cloakroom <command> --help shows what a command accepts.",
    "cloakroom --version shows the version.",
  ].join("\n");
}

function helpOf(name: string, { summary, help, operands = [] }: Command): string {
  const lines = [...help, "--json             print the result as JSON"].map((line) => `  ${line}`);
  return [`Usage: cloakroom ${[name, ...operands].join(" ")} [options]`, "", summary, "", ...lines].join("\n");
}

function inLines(result: unknown): string {
  if (Array.isArray(result)) return result.map((item) => inLines(item)).join("\n\n");
  if (typeof result !== "object" || result === null) return String(result);
  return Object.entries(result)
    .map(([key, value]) => `${key}: ${inLine(value)}`)
    .join("\n");
}

/** Formats a part of a result: one line per list item. */
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
