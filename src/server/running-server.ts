import type { LogLines } from "../api/observation/operator-log.js";
import type { Clock } from "../base/clock.js";
import type { SharedRunnerAccess } from "../sandbox/shared-runner.js";
import type { SharedResources, Vault } from "../vault/vault.js";
import type { LocalCounters } from "./rate-limiting.js";

export interface RunningServer {
  readonly url: string;
  readonly vault: Vault;
  /** Resolves to a message for the operator when the server cannot continue because its database is gone. */
  readonly failed: Promise<string>;
  readonly waitingFor: () => readonly string[];
  /** Ends within 28 s in any case. @throws the error of a part that failed to end. */
  stop(): Promise<void>;
}

/** The signal to stop came before the server had started. */
export class StoppedAtStart extends Error {
  override readonly name = "StoppedAtStart";
}

/** What a server finds around it, besides its settings. */
export interface Surroundings {
  readonly announce: (line: string) => void;
  /** Absent: the system's. */
  readonly clock?: Clock;
  /** Ends a start that waits: for shares of a split root key, or for processes. */
  readonly whileStarting?: AbortSignal;
  /** Takes the lines of the operator's log. Absent: standard output. */
  readonly logLines?: LogLines;
}

export interface ServingProcess extends LocalCounters {
  readonly number: number;
  readonly opened: SharedResources;
  readonly runner: SharedRunnerAccess;
}

/** Resolves when the embedded database has ended by itself. */
export function databaseExited({ embedded }: Pick<Vault, "embedded">): Promise<string> {
  const gone = embedded?.exited.then(({ summary }) => `The embedded database has ended: ${summary}.`);
  return gone ?? new Promise(() => {});
}
