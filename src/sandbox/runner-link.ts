import type { ReadyRunner } from "./runner-waiters.js";

export type ExitReason = "crashed" | "silent" | "protocol" | "not_started";

/** The connection to the runner, whether this process or another one started it. */
export interface RunnerLink {
  readonly isReady: boolean;
  /** Why the last runner did not start. Absent once one is ready. */
  readonly problem: string | undefined;
  /** Resolves to the runner as soon as one is ready, or to undefined after `withinMs` or when the link closes. */
  ready(withinMs: number): Promise<ReadyRunner | undefined>;
  /** Ends the runner. Its supervisor starts another. */
  kill(reason: ExitReason): void;
  close(): Promise<void>;
}
