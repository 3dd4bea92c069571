import type { ApiCommand } from "../api-command.js";
import type { Deletable, Gettable } from "../entity-actions.js";

export function getCommand(name: string, summary: string, part: Gettable): ApiCommand {
  const load = async () => (await import("../entity-actions.js")).getting(part);
  return { name, summary, arguments: ["ID"], load };
}

interface Deletion extends Pick<ApiCommand, "name" | "summary"> {
  readonly part: Deletable;
  /** What a person agrees to, with `ID` for the entity's id. */
  readonly warning: string;
}

export function deleteCommand({ part, warning, ...command }: Deletion): ApiCommand {
  const load = async () => (await import("../entity-actions.js")).deleting(part, warning);
  return { ...command, arguments: ["ID"], isDestructive: true, load };
}
