import type { ParseArgsOptionsConfig } from "node:util";
import type { Config } from "../settings/config.js";

/** A wrong call. The message says what the command takes. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What a command is given. */
export interface CommandInput {
  readonly config: Config;
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** Words for people, on standard error. */
  readonly say: (line: string) => void;
  /** The result, on standard output: one JSON document with --json, lines without. */
  readonly answer: (result: Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[]) => void;
}

/** One `cloakroom` command. */
export interface Command {
  readonly summary: string;
  readonly options: ParseArgsOptionsConfig;
  /** One line for each option. */
  readonly help: readonly string[];
  run(input: CommandInput): Promise<void>;
}

/** The commands by their names as they are typed, such as `tenants create`. Each is loaded when it is needed. */
export type Commands = ReadonlyMap<string, () => Promise<Command>>;

/** @throws {UsageError} when the option is missing. */
export function requiredText(options: CommandInput["options"], name: string): string {
  const value = options[name];
  if (typeof value !== "string" || value.trim() === "") throw new UsageError(`--${name} is missing.`);
  return value;
}
