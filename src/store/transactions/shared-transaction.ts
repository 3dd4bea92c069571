import type { CallerTurns } from "../../base/caller-turns.js";
import { ConnectionLost } from "../postgres/database-error.js";
import type { Engine, Opened } from "../postgres/open-connection.js";
import { StatementBatch } from "../statements/statement-batch.js";
import type { Connection } from "../wire/connection.js";
import type { LateStep, StepEnd } from "../wire/step.js";
import { Pace } from "./pace.js";
import {
  culpritAmong,
  everyoneWaits,
  type Guard,
  type StartOptions,
  startAll,
  type TransactionWork,
} from "./started-works.js";
import { addGuard, BEGIN, COMMIT, Command, DISCARD_PLANS, ROLLBACK, setTenant } from "./transaction-commands.js";
import { type TransactionResult, unknownCommit } from "./transaction-result.js";

export interface RunOptions extends StartOptions {
  readonly guard: Guard;
  /** The turns of the main thread in which the works start, and in which statements of shared works are written. */
  readonly turns: CallerTurns;
  /** Makes the connection plan its statements again. */
  readonly plansAgain: boolean;
  /**
   * If true, each work awaits only the transaction, which then waits for no other event, and statements run in lock
   * order. Otherwise there is one work, and its statements run in call order.
   */
  readonly isShared: boolean;
  /** What happens to a step that does not end in time. Absent: nothing. */
  readonly late?: LateStep | undefined;
}

/**
 * Runs works of one tenant in one transaction. `begin`, the tenant, the guard and the first statements are one step,
 * and so are the last statements and `commit`: work without a query takes one trip to the database.
 */
export async function runTransaction(
  { connection, engine }: Opened,
  options: RunOptions,
  works: readonly TransactionWork[],
): Promise<TransactionResult> {
  const { guard, turns, isShared, late } = options;
  const pace = new Pace(() => turns.next());
  const requests = await pace.run(startAll(works, options, engine));
  let isOpen = false;

  for (;;) {
    await (isShared ? everyoneWaits() : Promise.all(requests.map((request) => request.settled())));
    const found = culpritAmong(requests);
    if (found) {
      return isOpen ? rollBack(connection, found.error, found.culprit) : { kind: "aborted", ...found };
    }

    const batch = new StatementBatch(isShared ? "locks" : "calls");
    for (const request of requests) request.joinTo(batch);
    const isLast = requests.every((request) => request.isDone);
    const ending = new StatementBatch();
    if (isLast) for (const request of requests) request.joinLastTo(ending);
    // The guard runs even for work without statements: its result is for callers who still have their rights.
    if (isLast && batch.isEmpty && ending.isEmpty && !isOpen && guard === undefined)
      return { kind: "committed", requests };

    const commit = isLast ? new Command(COMMIT) : undefined;
    try {
      if (!isOpen) addOpening(connection, engine, options);
      if (isShared) await pace.run(batch.inSteps(connection, options));
      else batch.addTo(connection, options);
      ending.addTo(connection, options);
      if (commit) connection.add(commit);
    } catch (error) {
      connection.discardStep();
      return isOpen ? rollBack(connection, error) : { kind: "aborted", error };
    }

    isOpen = true;
    const end = await connection.send(late);
    pace.restart();
    if (commit && isUnknown(end, commit)) return unknownCommit(connection, requests, errorIn(end));
    if (end.kind === "lost") return { kind: "aborted", error: end.error };
    if (end.kind === "failed") {
      const aborted = end.isOpen
        ? await rollBack(connection, end.error)
        : ({ kind: "aborted", error: end.error } as const);
      return { ...aborted, table: end.failed?.table };
    }
    // In a failed transaction, `commit` rolls back and reports that.
    if (commit && commit.tag !== "COMMIT") return { kind: "aborted", error: new ConnectionLost() };
    try {
      batch.deliver();
    } catch (error) {
      return commit ? unknownCommit(connection, requests, error) : rollBack(connection, error);
    }
    if (commit) return { kind: "committed", requests };
  }
}

function addOpening(connection: Connection, engine: Engine, options: RunOptions): void {
  connection.add(new Command(BEGIN));
  connection.add(setTenant(engine, options.tenantId));
  if (options.plansAgain) connection.add(new Command(DISCARD_PLANS));
  addGuard(connection, options.guard, options);
}

/**
 * Whether the commit may have happened:
 *
 * - it was sent, and the connection was lost before its response;
 * - its response is an error of any kind;
 * - it succeeded, but an earlier output of the same step cannot be read;
 * - it succeeded with a warning: somebody cancelled its wait for a standby, and it may be lost in a failover.
 */
function isUnknown(end: StepEnd, commit: Command): boolean {
  if (commit.hasWarned) return true;
  if (end.kind === "lost") return end.wasSent;
  return end.kind === "failed" && (end.failed === commit || commit.tag === "COMMIT");
}

function errorIn(end: StepEnd): unknown {
  return end.kind === "done" ? new ConnectionLost() : end.error;
}

async function rollBack(
  connection: Connection,
  error: unknown,
  culprit?: number,
): Promise<TransactionResult & { readonly kind: "aborted" }> {
  connection.add(new Command(ROLLBACK));
  await connection.send();
  return culprit === undefined ? { kind: "aborted", error } : { kind: "aborted", error, culprit };
}
