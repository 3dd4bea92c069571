import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

/**
 * A whole number within inclusive bounds. Undefined if the option is absent.
 * @throws {UsageError}
 */
export function wholeOption(
  options: CommandInput["options"],
  name: string,
  [least, most]: readonly [number, number],
): number | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  const count = Number(value);
  if (typeof value === "string" && /^\d+$/.test(value) && count >= least && count <= most) return count;
  throw new UsageError(`--${name} must be a number from ${least} to ${most}.`);
}
