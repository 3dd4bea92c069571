import type { Command, Flags } from "../command.js";
import { OPERATOR_COMMANDS } from "../operator-commands.js";
import { API_COMMANDS } from "./commands.js";

interface Summary {
  readonly name: string;
  readonly summary: string;
}

export function commandHelp(command: Command<unknown>, common: Flags): string {
  const { name, summary, arguments: wanted = [], flags = {}, notes = [], examples = [] } = command;
  return [
    ["Usage: cloakroom", name, ...wanted, "[options]"].join(" "),
    "",
    summary,
    ...(examples.length > 0 ? ["", "Examples:", ...examples.map((text) => `  cloakroom ${name} ${text}`)] : []),
    ...(Object.keys(flags).length > 0 ? ["", "Options:", ...flagLines(flags)] : []),
    ...(notes.length > 0 ? ["", ...notes] : []),
    "",
    "Options of every command:",
    ...flagLines(common),
  ].join("\n");
}

export function overview(group?: string): string {
  const isShown = ({ name }: Summary) => group === undefined || name.split(" ")[0] === group;
  const ofVault = API_COMMANDS.filter(isShown);
  const ofOperators = OPERATOR_COMMANDS.filter(isShown);
  const width = Math.max(...[...ofVault, ...ofOperators].map(({ name }) => name.length));
  const lines = (commands: readonly Summary[]) =>
    commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    "Usage: cloakroom <command> [options]",
    ...(ofVault.length > 0 ? ["", "With a vault over its API:", ...lines(ofVault)] : []),
    ...(ofOperators.length > 0 ? ["", "On the machine of a vault, for operators:", ...lines(ofOperators)] : []),
    "",
    "cloakroom <command> --help shows what a command accepts.",
    "cloakroom completion bash, zsh or fish prints completion for a shell.",
    "cloakroom --version shows the version.",
  ].join("\n");
}

function flagLines(flags: Flags): readonly string[] {
  const rows = Object.entries(flags).map(([name, { value, meaning, choices }]) => ({
    left: value === undefined ? `--${name}` : `--${name} ${value}`,
    right: choices ? `${meaning}: ${choices.join(", ")}` : meaning,
  }));
  const width = Math.max(...rows.map(({ left }) => left.length));
  return rows.map(({ left, right }) => `  ${left.padEnd(width)}  ${right}`);
}
