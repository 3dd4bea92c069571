import { setImmediate as nextTurn } from "node:timers/promises";
import { ConnectionLost, classifyFailure } from "../postgres/database-error.js";
import type { Opened } from "../postgres/open-connection.js";
import { StatementBatch } from "../statements/statement-batch.js";
import type { Connection } from "../wire/connection.js";
import { DatabaseError } from "../wire/server-error.js";
import { type LateStep, NotPreparedYet, type StepEnd } from "../wire/step.js";
import type { BatchedRequest } from "./batched-request.js";
import { Pace } from "./pace.js";
import {
  culpritAmong,
  everyoneWaits,
  type Guard,
  type StartOptions,
  startAll,
  type TransactionWork,
} from "./started-works.js";
import { addGuard, Command, DISCARD_PLANS, MAKE_DURABLE, setPipelinedTenant } from "./transaction-commands.js";
import { type TransactionResult, unknownCommit } from "./transaction-result.js";

export interface TenantWorks {
  readonly start: StartOptions;
  readonly guard: Guard;
  readonly works: readonly TransactionWork[];
}

export interface PipelineOptions<Works extends TenantWorks> {
  readonly plansAgain: boolean;
  /** What happens to a trip that does not end in time. Absent: nothing. */
  readonly late?: LateStep | undefined;
  readonly onEnded: (ended: readonly EndedWorks<Works>[]) => void;
}

export interface EndedWorks<Works extends TenantWorks> {
  readonly works: Works;
  readonly result: TransactionResult;
  /** Milliseconds since its start. In a pipeline: for which its own last step waited in vain for a response. */
  readonly unansweredMs: number;
  /** In a pipeline: milliseconds for which the others behind it waited for it. */
  readonly heldMs?: number;
}

/** A transaction with this many bytes in its statements would delay the others. */
const MAX_BYTES = 256 * 1_024;

/**
 * Runs the works of several tenants, each tenant's in a transaction of its own, over one connection and in one trip: the
 * transactions follow each other without waiting for responses, and one commit at the end makes all of them durable.
 * They share nothing else. Each ends before the next begins: no statement sees two tenants, no lock is held for longer
 * than its own transaction, and an error ends its own transaction only.
 *
 * Works that only read before their last step make a transaction for each step. Under "read committed" that is no
 * difference: each statement sees what is committed when it starts, and without a write no row is locked. The guard runs
 * in each. Works that write before their last step are given back ("apart").
 *
 * Between two works it waits for the event loop, and never for a turn of a tenant: the others would wait with it.
 */
export async function runPipeline<Works extends TenantWorks>(
  { connection, engine }: Opened,
  { plansAgain, late, onEnded }: PipelineOptions<Works>,
  all: readonly Works[],
): Promise<void> {
  const pace = new Pace(nextTurn);
  let open: Pipelined<Works>[] = [];
  for (const works of all) {
    open.push(new Pipelined(works, await pace.run(startAll(works.works, works.start, engine))));
  }
  let discarded = plansAgain ? discardPlans(connection) : undefined;
  while (open.length > 0) {
    await everyoneWaits();
    for (const one of open) one.takeStep();
    for (const one of open) one.write(connection);
    const durable = makeDurable(connection, open);
    connection.flush(late);
    // The trip may have no other step, and its end is the connection's return.
    await discarded;
    discarded = undefined;
    for (const one of open) await one.receive();
    const isDurable = await durable;
    for (const one of open) one.conclude(connection, isDurable);
    onEnded(open.flatMap((one) => one.ended ?? []));
    open = open.filter(({ ended }) => !ended);
  }
}

function discardPlans(connection: Connection): Promise<StepEnd> {
  connection.add(new Command(DISCARD_PLANS));
  return connection.endStep();
}

/** @returns whether the commits are durable. Undefined: none needs to be. */
function makeDurable(
  connection: Connection,
  pipelined: readonly Pipelined<TenantWorks>[],
): Promise<StepEnd> | undefined {
  if (!pipelined.some(({ commits }) => commits)) return undefined;
  connection.add(new Command(MAKE_DURABLE));
  return connection.endStep();
}

type FailedStep = Exclude<StepEnd, { readonly kind: "done" }>;

interface PlannedStep {
  readonly batch: StatementBatch;
  readonly isLast: boolean;
  readonly writes: boolean;
}

/** A transaction of a pipeline, or one for each of its steps. */
class Pipelined<Works extends TenantWorks> {
  readonly #works: Works;
  readonly #requests: readonly BatchedRequest[];
  /** Whether the guard has held for all that the works have read, if they have one. */
  #isGuarded: boolean;
  #step: PlannedStep | undefined;
  #sent: Promise<StepEnd> | undefined;
  #end: StepEnd | undefined;
  #heldMs = 0;
  #unansweredMs = 0;
  ended: EndedWorks<Works> | undefined;

  constructor(works: Works, requests: readonly BatchedRequest[]) {
    this.#works = works;
    this.#requests = requests;
    this.#isGuarded = works.guard === undefined;
  }

  /** Whether the step that was written ends with a commit that must be durable. */
  get commits(): boolean {
    return this.#sent !== undefined && this.#step?.isLast === true && this.#step.writes;
  }

  /** Takes the statements that the works want next, unless earlier ones wait to be sent. */
  takeStep(): void {
    if (this.#step) return;
    const planned = this.#plan();
    if ("kind" in planned) this.#endWith(planned);
    else this.#step = planned;
  }

  #plan(): PlannedStep | TransactionResult {
    const requests = this.#requests;
    const found = culpritAmong(requests);
    if (found) return { kind: "aborted", ...found };
    const isLast = requests.every((request) => request.isDone);
    const writes = requests.some((request) => request.wantsWrite);
    if (writes && !isLast) return { kind: "apart" };
    const batch = new StatementBatch();
    for (const request of requests) request.joinTo(batch);
    if (isLast && batch.isEmpty && this.#isGuarded) return { kind: "committed", requests };
    return { batch, isLast, writes };
  }

  /** Adds a transaction to the connection's pipeline, unless another one parses a statement of it. */
  write(connection: Connection): void {
    if (!this.#step) return;
    const { start, guard } = this.#works;
    try {
      connection.add(setPipelinedTenant(start.tenantId));
      addGuard(connection, guard, start);
      this.#step.batch.addTo(connection, start);
    } catch (error) {
      connection.discardStep();
      if (!(error instanceof NotPreparedYet)) this.#endWith({ kind: "apart" });
      return;
    }
    if (connection.stepBytes > MAX_BYTES) {
      connection.discardStep();
      this.#endWith({ kind: "apart" });
      return;
    }
    this.#sent = connection.endStep();
  }

  async receive(): Promise<void> {
    if (!this.#sent) return;
    const since = performance.now();
    this.#end = await this.#sent;
    const waited = performance.now() - since;
    this.#heldMs += waited;
    if (this.#end.kind === "lost") this.#unansweredMs = waited;
  }

  /** @param durable the end of the commit that makes this one durable. */
  conclude(connection: Connection, durable: StepEnd | undefined): void {
    const [step, end] = [this.#step, this.#end];
    if (!step || !end) return;
    this.#step = undefined;
    this.#sent = undefined;
    this.#end = undefined;
    const result = this.#resultOf(step, { end, durable, connection });
    if (result) this.#endWith(result);
  }

  #resultOf(
    { batch, isLast, writes }: PlannedStep,
    { end, durable, connection }: { end: StepEnd; durable: StepEnd | undefined; connection: Connection },
  ): TransactionResult | undefined {
    const mayBeCommitted = isLast && writes;
    if (end.kind !== "done") {
      const isUnknown = mayBeCommitted && hasReachedCommit(end);
      return isUnknown ? unknownCommit(connection, this.#requests, end.error) : failed(end);
    }
    if (mayBeCommitted && !isConfirmed(durable)) {
      return unknownCommit(connection, this.#requests, new ConnectionLost());
    }
    try {
      batch.deliver();
    } catch (error) {
      return mayBeCommitted ? unknownCommit(connection, this.#requests, error) : { kind: "apart", error };
    }
    this.#isGuarded = true;
    return isLast ? { kind: "committed", requests: this.#requests } : undefined;
  }

  #endWith(result: TransactionResult): void {
    this.#step = undefined;
    this.ended = { works: this.#works, result, heldMs: this.#heldMs, unansweredMs: this.#unansweredMs };
  }
}

/** Whether the database may have gone on to the commit, which follows the last statement. */
function hasReachedCommit(end: FailedStep): boolean {
  if (end.kind === "lost") return end.wasSent;
  // An error of our own while reading a row stops nothing.
  return end.failed === undefined || !(end.error instanceof DatabaseError);
}

function isConfirmed(end: StepEnd | undefined): boolean {
  return end?.kind === "done" && !end.hasWarned;
}

/** A stale revision concerns all works; any other error may concern one of them. */
function failed(end: FailedStep): TransactionResult {
  const { error } = end;
  const concernsAll = end.kind === "lost" || classifyFailure(error) === "stale_authorization";
  if (concernsAll) return { kind: "aborted", error };
  return { kind: "apart", error, table: end.kind === "failed" ? end.failed?.table : undefined };
}
