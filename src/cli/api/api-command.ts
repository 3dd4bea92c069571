import type { ApiCall } from "./api-call.js";

/** An option of a command over the API. */
export interface Flag {
  /** `list` may be repeated. */
  readonly kind: "text" | "list" | "whole" | "switch";
  /** What takes the place of the value in help, such as `FILE`. A switch has none. */
  readonly value?: string;
  readonly meaning: string;
  /** The accepted values, where they are few. */
  readonly choices?: readonly string[];
}

export type Flags = Readonly<Record<string, Flag>>;

export type Action = (call: ApiCall) => Promise<void>;

/** A command over the API, as data: help, completion, suggestions and docs/command-line.md come from it. */
export interface ApiCommand {
  /** Such as `tokens create`. */
  readonly name: string;
  readonly summary: string;
  /** Names of the arguments. Those in brackets may be absent, and come last. */
  readonly arguments?: readonly string[];
  readonly flags?: Flags;
  /** Arguments and options after the name, without `cloakroom`. */
  readonly examples?: readonly string[];
  /** Asks before it runs, because it cannot be undone. */
  readonly isDestructive?: boolean;
  /** Loads the code on use: a command reads only what it needs. */
  readonly load: () => Promise<Action>;
}

/** Options of every command over the API. */
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

/** All options of a command, its own first. */
export function flagsOf(command: ApiCommand): Flags {
  return { ...command.flags, ...COMMON_FLAGS };
}
