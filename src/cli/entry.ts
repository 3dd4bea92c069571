import { suggestionFor } from "../base/suggestion.js";
import type { ApiCommand } from "./api/api-command.js";
import { API_COMMANDS } from "./api/commands.js";
import { argumentAt, completionScript, completionsOf } from "./api/completion.js";
import { commandHelp, overview } from "./api/help.js";
import { OPERATOR_COMMANDS } from "./operator-commands.js";
import { printable } from "./printable.js";
import { versionLine } from "./version.js";

const WRONG_CALL = 2;

// A program that reads the output, such as head, may end first.
process.stdout.on("error", (error) => process.exit("code" in error && error.code === "EPIPE" ? 0 : 1));
await run(process.argv.slice(2));

/** Runs the command that the arguments name, and loads only what it needs. */
async function run(args: readonly string[]): Promise<void> {
  const [first, second, third] = args;
  if (first === undefined || ["--help", "-h"].includes(first)) return print(overview());
  if (isVersion(args)) return print(versionLine(args.includes("--json")));
  if (first === "__complete") return complete(args.slice(second === "--" ? 2 : 1));
  if (first === "completion") return printCompletion(second);
  if (first === "help") return second === undefined ? print(overview()) : help(second, third);
  const command = apiCommandOf(args);
  if (command) {
    const { runApiCommand } = await import("./api/run-api-command.js");
    const words = isNamed(command.name, args) ? command.name.split(" ").length : 1;
    return runApiCommand(command, args.slice(words));
  }
  if (OPERATOR_COMMANDS.some(({ name }) => isNamed(name, args))) return loadOperatorCommand(first);
  return refuse(args);
}

/** Whether the arguments ask for this program's version alone. `version --server` is a command over the API. */
function isVersion([first = "", ...others]: readonly string[]): boolean {
  if (["--version", "-V"].includes(first)) return true;
  return first === "version" && others.every((other) => other === "--json");
}

async function complete(words: readonly string[]): Promise<void> {
  const argument = argumentAt(words);
  if (!argument) return print(completionsOf(words).join("\n"));
  const { completeId } = await import("./api/id-completion.js");
  print((await completeId(argument)).join("\n"));
}

/** A noun with options means its list: `cloakroom logs --follow`. */
function apiCommandOf(args: readonly string[]): ApiCommand | undefined {
  const [noun, option = ""] = args;
  const isList = option.startsWith("-") && option !== "-h" && option !== "--help";
  return (
    API_COMMANDS.find(({ name }) => isNamed(name, args)) ??
    (isList ? API_COMMANDS.find(({ name }) => name === `${noun} list`) : undefined)
  );
}

function isNamed(name: string, args: readonly string[]): boolean {
  return name.split(" ").every((word, index) => args[index] === word);
}

async function loadOperatorCommand(name: string): Promise<void> {
  // Settings of the API's commands, in the same shell. The server refuses them: CLOAKROOM_URL may be meant as PUBLIC_URL.
  if (name !== "serve") for (const key of ["CLOAKROOM_URL", "CLOAKROOM_API_KEY"]) delete process.env[key];
  await import("./command-line.js");
}

async function help(...words: readonly (string | undefined)[]): Promise<void> {
  const args = words.flatMap((word) => word ?? []);
  const command = apiCommandOf(args);
  if (command) return print(commandHelp(command));
  if (!OPERATOR_COMMANDS.some(({ name }) => isNamed(name, args))) return refuse([...args, "--help"]);
  process.argv.splice(2, process.argv.length, ...args, "--help");
  await import("./command-line.js");
}

/** Shows the commands of a group, or says that there is no such command, with the one that was probably meant. */
function refuse(args: readonly string[]): void {
  const [first = "", second] = args;
  const names = [...API_COMMANDS, ...OPERATOR_COMMANDS].map(({ name }) => name);
  const isGroup = names.some((name) => name.startsWith(`${first} `));
  const group = isGroup ? first : undefined;
  if (isGroup && (second === "--help" || second === "-h")) {
    print(overview(group));
    return;
  }
  const words = args.filter((word) => !word.startsWith("-")).slice(0, 2);
  const close = closestCommand(words, names);
  const hint = close === undefined ? "" : ` Did you mean: cloakroom ${close}?`;
  if (isGroup || close === undefined) process.stderr.write(`${overview(group)}\n`);
  process.stderr.write(`There is no command "${printable(words.join(" "))}".${hint}\n`);
  process.exitCode = WRONG_CALL;
}

function closestCommand([noun = "", verb]: readonly string[], names: readonly string[]): string | undefined {
  const nouns = [...new Set(names.map((name) => name.split(" ")[0] ?? ""))];
  const meant = nouns.includes(noun) ? noun : suggestionFor(noun, nouns);
  if (meant === undefined || names.includes(meant)) return meant;
  const verbs = names.filter((name) => name.startsWith(`${meant} `)).map((name) => name.slice(meant.length + 1));
  const close = verb === undefined ? undefined : verbs.includes(verb) ? verb : suggestionFor(verb, verbs);
  if (close !== undefined) return `${meant} ${close}`;
  return meant === noun ? undefined : `${meant} --help`;
}

function printCompletion(shell: string | undefined): void {
  try {
    print(completionScript(shell));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : ""}\n`);
    process.exitCode = WRONG_CALL;
  }
}

function print(text: string): void {
  if (text !== "") process.stdout.write(`${text}\n`);
}
