import type { Command, Flags } from "../command.js";
import type { ApiCall } from "./api-call.js";

export type Action = (call: ApiCall) => Promise<void>;

export interface ApiCommand extends Command<Action> {
  /** Asks before it runs, because it cannot be undone. */
  readonly isDestructive?: boolean;
}

export const COMMON_FLAGS = {
  json: { kind: "switch", meaning: "print the result as JSON, in the names of the REST API" },
  query: {
    kind: "text",
    value: "PATH",
    meaning: "print a part of the result, such as id, card.last4, [0].id or [].id",
  },
  quiet: { kind: "switch", meaning: "print ids only, one per line" },
  "no-color": { kind: "switch", meaning: "print without colors, as with the variable NO_COLOR" },
  profile: { kind: "text", value: "NAME", meaning: "use this profile; default: default" },
  url: { kind: "text", value: "URL", meaning: "the address of the vault; default: CLOAKROOM_URL, or the profile's" },
  timeout: { kind: "whole", value: "SECONDS", meaning: "give up after this time; default: 30" },
  yes: { kind: "switch", meaning: "do not ask before deleting" },
  "no-input": { kind: "switch", meaning: "never ask on the terminal: fail instead" },
  help: { kind: "switch", meaning: "show this help" },
} as const satisfies Flags;

export function flagsOf(command: ApiCommand): Flags {
  return { ...command.flags, ...COMMON_FLAGS };
}
