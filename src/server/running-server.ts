import type { RateLimits } from "../rate-limits/rate-limits.js";
import type { SharedRunnerPlace } from "../sandbox/shared-runner.js";
import type { OpenedForAll, Vault } from "../vault/vault.js";

/** A server that takes requests. */
export interface RunningServer {
  readonly url: string;
  readonly vault: Vault;
  /** Resolves to a sentence for the operator when the server cannot go on: its database is gone. */
  readonly failed: Promise<string>;
  /** What a stop waits for at this moment. */
  readonly waitingFor: () => readonly string[];
  /** Ends within 28 s, whatever does not. @throws what a part of the server failed to end with. */
  stop(): Promise<void>;
}

/** One of several processes that serve, and what it shares with the others. */
export interface ServingProcess {
  readonly number: number;
  readonly opened: OpenedForAll;
  readonly runner: SharedRunnerPlace;
  readonly rateLimits: RateLimits;
}

/** Resolves when the embedded database has ended by itself. */
export function databaseGone({ embedded }: Pick<Vault, "embedded">): Promise<string> {
  const gone = embedded?.exited.then(({ summary }) => `The embedded database has ended: ${summary}.`);
  return gone ?? new Promise(() => {});
}
