import type { ParseArgsOptionsConfig } from "node:util";
import type { Config } from "../settings/config.js";
import { UsageError } from "./usage-error.js";

/** The input of a command. */
export interface CommandInput {
  readonly config: Config;
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** The words after the command that belong to no option: at most as many as it has operands. */
  readonly operands: readonly string[];
  /** Writes a message for people to standard error. */
  readonly say: (line: string) => void;
  /** Writes the result to standard output: one JSON document with --json, otherwise lines. */
  readonly printResult: (
    result: Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[],
  ) => void;
}

/** One `cloakroom` command. */
export interface Command {
  readonly summary: string;
  readonly options: ParseArgsOptionsConfig;
  /** Names of words that follow the command, such as TOKEN; those in brackets may be absent. Absent: none. */
  readonly operands?: readonly string[];
  /** One line for each option. */
  readonly help: readonly string[];
  run(input: CommandInput): Promise<void>;
}

/** The commands by name, such as `tenants create`. Each is loaded on use. */
export type Commands = ReadonlyMap<string, () => Promise<Command>>;

/** @throws {UsageError} if the option is missing. */
export function requiredText(options: CommandInput["options"], name: string): string {
  const value = options[name];
  if (typeof value !== "string" || value.trim() === "") throw new UsageError(`--${name} is missing.`);
  return value;
}
