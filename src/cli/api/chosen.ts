import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";

/** One of some texts. @throws {UsageError} for another text. */
export function chosen<Choice extends string>(
  call: ApiCall,
  flag: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = call.text(flag);
  if (text === undefined) return undefined;
  const choice = choices.find((known) => known === text);
  if (choice === undefined) throw new UsageError(`--${flag} must be one of ${choices.join(", ")}.`);
  return choice;
}
