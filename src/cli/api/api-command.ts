import { type Command, type Flags, switchFlag, textFlag, wholeFlag } from "../command.js";
import type { ApiCall } from "./api-call.js";

export type Action = (call: ApiCall) => Promise<void>;

export interface ApiCommand extends Command<Action> {
  /** Asks before it runs, because it cannot be undone. */
  readonly isDestructive?: boolean;
}

export const COMMON_FLAGS = {
  json: switchFlag("print the result as JSON, in the names of the REST API"),
  query: textFlag("PATH", "print a part of the result, such as id, card.last4, [0].id or [].id"),
  quiet: switchFlag("print ids only, one per line"),
  "no-color": switchFlag("print without colors, as with the variable NO_COLOR"),
  profile: textFlag("NAME", "use this profile; default: default"),
  url: textFlag("URL", "the address of the vault; default: CLOAKROOM_URL, or the profile's"),
  timeout: wholeFlag("SECONDS", "give up after this time; default: 30"),
  yes: switchFlag("do not ask before deleting"),
  "no-input": switchFlag("never ask on the terminal: fail instead"),
  help: switchFlag("show this help"),
} as const satisfies Flags;

export function commandFlags(command: ApiCommand): Flags {
  return { ...command.flags, ...COMMON_FLAGS };
}
