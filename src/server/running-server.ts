import type { SharedRunnerPlace } from "../sandbox/shared-runner.js";
import type { SharedResources, Vault } from "../vault/vault.js";
import type { LocalCounters } from "./rate-limiting.js";

/** A server that accepts requests. */
export interface RunningServer {
  readonly url: string;
  readonly vault: Vault;
  /** Resolves to a message for the operator when the server cannot continue because its database is gone. */
  readonly failed: Promise<string>;
  /** The parts that a stop is waiting for. */
  readonly waitingFor: () => readonly string[];
  /** Ends within 28 s in any case. @throws the error of a part that failed to end. */
  stop(): Promise<void>;
}

/** One of several serving processes, and the parts it shares with the others. */
export interface ServingProcess extends LocalCounters {
  readonly number: number;
  readonly opened: SharedResources;
  readonly runner: SharedRunnerPlace;
}

/** Resolves when the embedded database has ended by itself. */
export function databaseExited({ embedded }: Pick<Vault, "embedded">): Promise<string> {
  const gone = embedded?.exited.then(({ summary }) => `The embedded database has ended: ${summary}.`);
  return gone ?? new Promise(() => {});
}
