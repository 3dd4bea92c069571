export interface Flag {
  /** `list` may be repeated. */
  readonly kind: "text" | "list" | "whole" | "switch";
  /** A switch has none. */
  readonly value?: string;
  readonly meaning: string;
  /** The accepted values, where they are few. */
  readonly choices?: readonly string[];
}

export type Flags = Readonly<Record<string, Flag>>;

/** @param value what takes the place of the value in help, such as `FILE`. */
export function textFlag(value: string, meaning: string, choices?: readonly string[]): Flag {
  return { kind: "text", value, meaning, ...(choices ? { choices } : {}) };
}

/** An option that may be repeated. */
export function listFlag(value: string, meaning: string, choices?: readonly string[]): Flag {
  return { ...textFlag(value, meaning, choices), kind: "list" };
}

export function wholeFlag(value: string, meaning: string): Flag {
  return { kind: "whole", value, meaning };
}

export function switchFlag(meaning: string): Flag {
  return { kind: "switch", meaning };
}

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

export function isNamed(name: string, args: readonly string[]): boolean {
  return name.split(" ").every((word, index) => args[index] === word);
}
