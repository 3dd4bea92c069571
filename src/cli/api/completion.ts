import { OPERATOR_COMMANDS } from "../operator-commands.js";
import { UsageError } from "../usage-error.js";
import { type ApiCommand, commandFlags } from "./api-command.js";
import { API_COMMANDS } from "./commands.js";

// The scripts stay the same in all versions: the program itself says what may come next. None of them evaluates it, as
// `compgen -W` does: ids are chosen by other people.
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_cloakroom() {
  local found
  COMPREPLY=()
  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(cloakroom __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _cloakroom cloakroom`,
  zsh: `#compdef cloakroom
_cloakroom() {
  local -a found
  found=("\${(@f)$(cloakroom __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
compdef _cloakroom cloakroom`,
  fish: `function __cloakroom_complete
  set -l words (commandline -opc) (commandline -ct)
  cloakroom __complete -- $words[2..-1] 2>/dev/null
end
complete -c cloakroom -a "(__cloakroom_complete)"`,
};

/** The script that makes a shell complete commands. @throws {UsageError} for another shell. */
export function completionScript(shell: string | undefined): string {
  const script = shell !== undefined && Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) throw new UsageError("Usage: cloakroom completion bash, zsh or fish");
  return script;
}

/** An argument of a command that is being typed. */
export interface TypedArgument {
  readonly command: ApiCommand;
  /** The arguments before it. */
  readonly before: readonly string[];
  /** What is typed of it. */
  readonly start: string;
  readonly options: ReadonlyMap<string, string>;
}

/** The argument that the last word begins; undefined where the last word is another part of the command. */
export function argumentAt(words: readonly string[]): TypedArgument | undefined {
  const command = API_COMMANDS.find(({ name }) => name.split(" ").every((word, index) => words[index] === word));
  const rest = words.slice(command?.name.split(" ").length);
  const start = rest.pop();
  if (!command || start === undefined || start.startsWith("-")) return undefined;
  const flags = commandFlags(command);
  const before: string[] = [];
  const options = new Map<string, string>();
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    const [name = "", value] = word.startsWith("--") ? word.slice(2).split(/=(.*)/s) : [];
    if (!word.startsWith("-")) before.push(word);
    else if (value !== undefined) options.set(name, value);
    else if (flags[name] && flags[name].kind !== "switch") {
      const given = rest.shift();
      // The last word is the value of this option.
      if (given === undefined) return undefined;
      options.set(name, given);
    }
  }
  return command.arguments?.[before.length] === undefined ? undefined : { command, before, start, options };
}

/** What may take the place of the last word, from the tables of commands alone. */
export function findCompletions(words: readonly string[]): readonly string[] {
  const [last = "", ...before] = [...words].reverse();
  const typed = before.reverse();
  const command = API_COMMANDS.find(({ name }) => name.split(" ").every((word, index) => typed[index] === word));
  if (command) {
    const flags = commandFlags(command);
    const open = flags[(typed.at(-1) ?? "").replace(/^--/, "")];
    const isValue = typed.at(-1)?.startsWith("--") && open !== undefined && open.kind !== "switch";
    if (isValue) return (open.choices ?? []).filter((choice) => choice.startsWith(last));
    return Object.keys(flags)
      .map((name) => `--${name}`)
      .filter((name) => last !== "" && name.startsWith(last));
  }
  const names = [...API_COMMANDS, ...OPERATOR_COMMANDS].map(({ name }) => name.split(" "));
  const next = names
    .filter((name) => typed.every((word, index) => name[index] === word))
    .flatMap((name) => name[typed.length] ?? []);
  const own = typed.length === 0 ? ["completion", "help", "version"] : [];
  return [...new Set([...next, ...own])].filter((word) => word.startsWith(last));
}
