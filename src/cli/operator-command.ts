import type { Config } from "../settings/config.js";
import { type Command, type Flags, switchFlag } from "./command.js";
import { UsageError } from "./usage-error.js";

export interface CommandInput {
  readonly config: Config;
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** The words after the command that belong to no option: at most as many as it takes. */
  readonly operands: readonly string[];
  /** Writes a message for people to standard error. */
  readonly say: (line: string) => void;
  /** Writes the result to standard output: one JSON document with --json, otherwise lines. */
  readonly printResult: (
    result: Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[],
  ) => void;
}

/** A command for operators, on the machine of a vault. */
export type OperatorCommand = Command<(input: CommandInput) => Promise<void>>;

export const OPERATOR_FLAGS = {
  json: switchFlag("print the result as JSON"),
  help: switchFlag("show this help"),
} as const satisfies Flags;

/** @throws {UsageError} if the option is missing. */
export function requiredText(options: CommandInput["options"], name: string): string {
  const value = options[name];
  if (typeof value !== "string" || value.trim() === "") throw new UsageError(`--${name} is missing.`);
  return value;
}
