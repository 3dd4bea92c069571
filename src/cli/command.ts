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

/** A command as data: help, completion, suggestions and docs/command-line.md come from it. */
export interface Command<Action> {
  /** Such as `tokens create`. */
  readonly name: string;
  readonly summary: string;
  /** Names of the arguments. Those in brackets may be absent, and come last. */
  readonly arguments?: readonly string[];
  readonly flags?: Flags;
  readonly notes?: readonly string[];
  /** Arguments and options after the name, without `cloakroom`. */
  readonly examples?: readonly string[];
  /** Loads the code on use: a command reads only what it needs. */
  readonly load: () => Promise<Action>;
}

/** Whether the arguments begin with the command's name. */
export function isNamed(name: string, args: readonly string[]): boolean {
  return name.split(" ").every((word, index) => args[index] === word);
}
