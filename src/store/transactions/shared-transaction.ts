import type { CallerTurns } from "../../base/caller-turns.js";
import type { TenantId } from "../../base/ids.js";
import { TURN_MS } from "../../base/processor-turns.js";
import { ConnectionLost, mustDiscardSession } from "../postgres/database-error.js";
import type { Engine, Opened } from "../postgres/open-connection.js";
import { boundQuery } from "../statements/bound-statement.js";
import { bigint } from "../statements/parameter.js";
import { StatementBatch } from "../statements/statement-batch.js";
import type { Connection, LateStep, StepEnd } from "../wire/connection.js";
import { BatchedRequest } from "./batched-request.js";
import type { LargeReads } from "./large-reads.js";
import type { CommitMarker, OrdinaryTransaction, TransactionStart, Work } from "./transaction.js";
import { BEGIN, COMMIT, Command, DISCARD_PLANS, everyoneWaits, ROLLBACK, setTenant } from "./transaction-commands.js";

/** The revision under which all requests of a transaction were authorized. Undefined for the server's own work. */
export type Guard = number | undefined;

export type TransactionResult =
  /** Committed. Includes work that threw before it wrote anything, with its error. */
  | { readonly kind: "committed"; readonly requests: readonly BatchedRequest[] }
  /** Nothing is stored. `culprit` is the index of the work that threw after it had written. */
  | {
      readonly kind: "aborted";
      readonly error: unknown;
      readonly culprit?: number;
      /** The table that the failed statement writes. */
      readonly table?: string | undefined;
    }
  /**
   * The commit was sent but not acknowledged. The marker shows whether it happened, once the process `backend` has
   * ended.
   */
  | {
      readonly kind: "unknown";
      readonly marker: CommitMarker;
      readonly backend: number;
      readonly requests: readonly BatchedRequest[];
    };

/** Whether the transaction stored a log row. */
export function hasLogged(result: TransactionResult): boolean {
  return (
    result.kind === "committed" && result.requests.some((request) => request.hasLogged && request.outcome?.ok !== false)
  );
}

/** Whether the session may still be at work on the transaction. */
export function mustDiscardSessionAfter(result: TransactionResult): boolean {
  if (result.kind === "unknown") return true;
  return result.kind === "aborted" && result.culprit === undefined && mustDiscardSession(result.error);
}

/** The work of one request, and its memory for large values. */
export interface TransactionWork {
  readonly work: Work<unknown, OrdinaryTransaction>;
  readonly reads: LargeReads;
}

/** How to run a transaction. */
export interface RunOptions extends TransactionStart {
  readonly tenantId: TenantId;
  readonly guard: Guard;
  /** Makes the connection plan its statements again. */
  readonly plansAgain: boolean;
  /**
   * If true, each work awaits only the transaction, which then waits for no other event, and statements run in lock
   * order. Otherwise there is one work, and its statements run in call order.
   */
  readonly isShared: boolean;
  /** The tenant's turns of the main thread. */
  readonly turns: CallerTurns;
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
  const { guard, isShared, late } = options;
  const requests = await startAll(works, engine, options);
  let isOpen = false;

  for (;;) {
    await (isShared ? everyoneWaits() : Promise.all(requests.map((request) => request.settled())));
    const culprit = requests.findIndex((request) => request.isElsewhere || hasFailedLate(request));
    if (culprit >= 0) {
      const error = requestError(requests[culprit]);
      return isOpen ? rollBack(connection, error, culprit) : { kind: "aborted", error, culprit };
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
      batch.addTo(connection, options);
      ending.addTo(connection, options);
      if (commit) connection.add(commit);
    } catch (error) {
      connection.discardStep();
      return isOpen ? rollBack(connection, error) : { kind: "aborted", error };
    }

    isOpen = true;
    const end = await connection.send(late);
    if (commit && isUnknown(end, commit)) return unknownCommit(connection, requests, errorIn(end));
    if (end.kind === "lost") return { kind: "aborted", error: end.error };
    if (end.kind === "failed") {
      const aborted = end.isOpen
        ? await rollBack(connection, end.error)
        : ({ kind: "aborted", error: end.error } as const);
      return { ...aborted, table: end.failed.table };
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

/**
 * Starts the works, in as many turns of the tenant as they need: each seals a value or two. The database knows nothing of
 * the transaction yet.
 */
async function startAll(
  works: readonly TransactionWork[],
  engine: Engine,
  options: RunOptions,
): Promise<BatchedRequest[]> {
  const requests: BatchedRequest[] = [];
  let since = performance.now();
  for (const { work, reads } of works) {
    if (requests.length > 0 && performance.now() - since >= TURN_MS) {
      await options.turns.next();
      since = performance.now();
    }
    const request = new BatchedRequest(options, engine, reads);
    request.start(work);
    requests.push(request);
  }
  return requests;
}

function hasFailedLate({ hasWritten, outcome }: BatchedRequest): boolean {
  return hasWritten && outcome?.ok === false;
}

function requestError(request: BatchedRequest | undefined): unknown {
  return request?.outcome?.ok === false
    ? request.outcome.error
    : new Error("work awaited something outside its transaction");
}

/**
 * Fails unless an active tenant has the revision that the requests were authorized under. The division by zero is
 * deliberate: one statement that can fail the transaction without a round trip to read its result.
 */
const CHECK_REVISION = boundQuery<number, undefined, undefined>({
  kind: "read",
  table: "tenants",
  position: "first",
  sql: `
    select 1 / (count(*))::int from tenants
    where tenant_id = :tenant and auth_revision = :revision and state = 'active'`,
  parameters: { revision: bigint((revision) => revision) },
  sortKey: () => "",
  row: () => undefined,
  outputs: (_, revisions) => revisions.map(() => undefined),
});

function addOpening(connection: Connection, engine: Engine, options: RunOptions): void {
  const { tenantId, guard } = options;
  connection.add(new Command(BEGIN));
  connection.add(setTenant(engine, tenantId));
  if (options.plansAgain) connection.add(new Command(DISCARD_PLANS));
  if (guard === undefined) return;
  const check = new StatementBatch();
  CHECK_REVISION.joinTo(check, guard);
  check.addTo(connection, options);
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

/**
 * The marker shows whether the commit happened. Work that sets none may run twice, such as a read, which is then logged
 * twice.
 */
function unknownCommit(
  { processId }: Connection,
  requests: readonly BatchedRequest[],
  error: unknown,
): TransactionResult {
  const marker = requests.find(({ outcome, marker }) => outcome?.ok && marker)?.marker;
  return marker ? { kind: "unknown", marker, backend: processId, requests } : { kind: "aborted", error };
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
