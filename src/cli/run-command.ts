import { suggestionFor } from "../base/suggestion.js";
import { terminal } from "../base/terminal.js";
import { type ApiCommand, COMMON_FLAGS } from "./api/api-command.js";
import { API_COMMANDS } from "./api/commands.js";
import { argumentAt, completionScript, findCompletions } from "./api/completion.js";
import { commandHelp, overview } from "./api/help.js";
import { isNamed } from "./command.js";
import { exitOnSignals } from "./exit-on-signals.js";
import { OPERATOR_FLAGS, type OperatorCommand } from "./operator-command.js";
import { OPERATOR_COMMANDS } from "./operator-commands.js";
import { printable } from "./printable.js";
import { versionLine } from "./version.js";

const WRONG_CALL = 2;

/** Runs the command that the arguments name on its terminal, and loads only what it needs. */
export async function runCommand(args: readonly string[]): Promise<void> {
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
  const operatorCommand = operatorCommandOf(args);
  return operatorCommand ? runOperator(operatorCommand, args) : refuse(args);
}

/** Whether the arguments ask for this program's version alone. `version --server` is a command over the API. */
function isVersion([first = "", ...others]: readonly string[]): boolean {
  if (["--version", "-V"].includes(first)) return true;
  return first === "version" && others.every((other) => other === "--json");
}

async function complete(words: readonly string[]): Promise<void> {
  const argument = argumentAt(words);
  if (!argument) return print(findCompletions(words).join("\n"));
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

function operatorCommandOf(args: readonly string[]): OperatorCommand | undefined {
  // The name of one command begins another: "backup" and "backup verify".
  const named = OPERATOR_COMMANDS.filter(({ name }) => isNamed(name, args));
  return named.toSorted((a, b) => b.name.length - a.name.length)[0];
}

async function runOperator(command: OperatorCommand, args: readonly string[]): Promise<void> {
  if (args.includes("--help") || args.includes("-h")) return print(commandHelp(command, OPERATOR_FLAGS));
  // Settings of the API's commands, in the same shell. The server refuses them: CLOAKROOM_URL may be meant as PUBLIC_URL.
  if (command.name !== "serve") for (const key of ["CLOAKROOM_URL", "CLOAKROOM_API_KEY"]) delete terminal().env[key];
  const { runForOperator } = await import("./command-line.js");
  // The server ends at signals in a way of its own.
  using _signals = command.name === "serve" ? undefined : exitOnSignals();
  await runForOperator(command, args);
}

function help(...words: readonly (string | undefined)[]): void {
  const args = words.flatMap((word) => word ?? []);
  const apiCommand = apiCommandOf(args);
  const operatorCommand = operatorCommandOf(args);
  if (apiCommand) print(commandHelp(apiCommand, COMMON_FLAGS));
  else if (operatorCommand) print(commandHelp(operatorCommand, OPERATOR_FLAGS));
  else refuse([...args, "--help"]);
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
  if (isGroup || close === undefined) terminal().stderr.write(`${overview(group)}\n`);
  terminal().stderr.write(`There is no command "${printable(words.join(" "))}".${hint}\n`);
  terminal().exitCode = WRONG_CALL;
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
    terminal().stderr.write(`${error instanceof Error ? error.message : ""}\n`);
    terminal().exitCode = WRONG_CALL;
  }
}

function print(text: string): void {
  if (text !== "") terminal().stdout.write(`${text}\n`);
}
