import { AsyncLocalStorage } from "node:async_hooks";
import type { Readable, Writable } from "node:stream";

/** What a command is run with: the process's own streams and environment, or those of a program that runs it inside. */
export interface Terminal {
  readonly stdin: Readable & Partial<Pick<NodeJS.ReadStream, "isTTY" | "setRawMode">>;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  /** Set by a command that fails. */
  exitCode?: number | string | null | undefined;
}

/** A stream for text, and whether people read it as it is written. */
export type Output = Writable & Partial<Pick<NodeJS.WriteStream, "isTTY" | "columns">>;

const given = new AsyncLocalStorage<Terminal>();

export function terminal(): Terminal {
  return given.getStore() ?? process;
}

/** Runs a command on a terminal of its own. Several can run at a time. */
export function onTerminal<T>(own: Terminal, command: () => Promise<T>): Promise<T> {
  return given.run(own, command);
}
