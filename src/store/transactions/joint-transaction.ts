import type { TenantId } from "../../base/ids.js";
import type { ConnectionInUse } from "../postgres/connection-slot.js";
import { ConnectionLost } from "../postgres/database-error.js";
import { StatementBatch } from "../statements/statement-batch.js";
import type { Connection } from "../wire/connection.js";
import type { PreparedStatement } from "../wire/prepared-statement.js";
import type { StepEnd } from "../wire/step.js";
import { BatchedRequest } from "./batched-request.js";
import { LargeReads } from "./large-reads.js";
import { everyoneWaits } from "./started-works.js";
import type { Work } from "./transaction.js";
import { BEGIN, COMMIT, COMMIT_LATER, Command, DISCARD_PLANS, ROLLBACK, setTenant } from "./transaction-commands.js";

export interface JointWork<T> {
  readonly tenantId: TenantId;
  readonly work: Work<T>;
}

export interface JointOptions {
  /**
   * The commit waits for neither the disk nor a standby, so the rows are locked for less. A crash may lose it, unless a
   * later commit of this server was acknowledged.
   */
  readonly mayBeLost?: boolean;
}

/**
 * Runs works of several tenants in one transaction: all commit, or none. Each statement runs under the row-level security
 * of its own tenant, because the tenant is set before its statements. The works take each step together, in one trip, in
 * the order in which they are given, and the statements of each in call order. Works that lock rows are given in the order
 * of their tenants.
 *
 * On Citus each work is a transaction of its own, because tenants are on different nodes.
 * @throws the first error of a work or a statement. If the commit was not acknowledged, some may be stored: only work that
 *   may happen twice belongs here.
 */
export async function runJointTransaction<T>(
  inUse: ConnectionInUse,
  now: Date,
  works: readonly JointWork<T>[],
  options: JointOptions = {},
): Promise<readonly T[]> {
  if (inUse.engine !== "citus" || works.length <= 1) return new JointTransaction(inUse, now, works, options).run();
  const values: T[] = [];
  for (const work of works) values.push(...(await new JointTransaction(inUse, now, [work], options).run()));
  return values;
}

class JointTransaction<T> {
  readonly #inUse: ConnectionInUse;
  readonly #connection: Connection;
  readonly #now: Date;
  readonly #requests: readonly BatchedRequest<T>[];
  readonly #begin: readonly PreparedStatement[];
  #isOpen = false;

  constructor(inUse: ConnectionInUse, now: Date, works: readonly JointWork<T>[], { mayBeLost = false }: JointOptions) {
    this.#begin = mayBeLost ? [BEGIN, COMMIT_LATER] : [BEGIN];
    this.#inUse = inUse;
    this.#connection = inUse.connection;
    this.#now = now;
    this.#requests = works.map(({ tenantId, work }) => {
      const open = { tenantId, now, isFirstInMinute: true, isShared: true };
      const request = new BatchedRequest<T>(open, inUse.engine, new LargeReads(undefined));
      request.start(work);
      return request;
    });
  }

  async run(): Promise<readonly T[]> {
    for (;;) {
      await everyoneWaits();
      if (this.#requests.some(({ isElsewhere }) => isElsewhere)) {
        return this.#fail(new Error("work awaited something outside its transaction"));
      }
      for (const { outcome } of this.#requests) if (outcome?.ok === false) return this.#fail(outcome.error);
      if (await this.#step()) return Promise.all(this.#requests.map(resultOf));
    }
  }

  /** Sends what the works want next. @returns whether the transaction is committed. */
  async #step(): Promise<boolean> {
    const isLast = this.#requests.every(({ isDone }) => isDone);
    const commit = isLast ? new Command(COMMIT) : undefined;
    const batches: StatementBatch[] = [];
    try {
      for (const request of this.#requests) this.#addStatementsOf(request, batches);
      if (!this.#isOpen && batches.length === 0) return true;
      if (commit) this.#connection.add(commit);
    } catch (error) {
      this.#connection.discardStep();
      return this.#fail(error);
    }
    this.#isOpen = true;
    const end = await this.#connection.send();
    if (end.kind !== "done") return this.#fail(end.error, end);
    // In a failed transaction, `commit` rolls back and reports that. A warning: its wait for a standby was cancelled.
    if (commit && (commit.tag !== "COMMIT" || commit.hasWarned)) throw new ConnectionLost();
    try {
      for (const batch of batches) batch.deliver();
    } catch (error) {
      return isLast ? Promise.reject(error) : this.#fail(error);
    }
    return isLast;
  }

  #addStatementsOf(request: BatchedRequest<T>, batches: StatementBatch[]): void {
    const batch = new StatementBatch("calls");
    request.joinTo(batch);
    if (batch.isEmpty) return;
    if (!this.#isOpen && batches.length === 0) {
      for (const statement of this.#begin) this.#connection.add(new Command(statement));
      if (this.#inUse.plansAgain) this.#connection.add(new Command(DISCARD_PLANS));
    }
    const { tenantId } = request;
    this.#connection.add(setTenant(this.#inUse.engine, tenantId));
    batch.addTo(this.#connection, { tenantId, now: this.#now });
    batches.push(batch);
  }

  async #fail(error: unknown, end?: StepEnd): Promise<never> {
    const isOpen = end?.kind === "failed" ? end.isOpen : this.#isOpen && end?.kind !== "lost";
    if (isOpen) {
      this.#connection.add(new Command(ROLLBACK));
      await this.#connection.send();
    }
    throw error;
  }
}

async function resultOf<T>(request: BatchedRequest<T>): Promise<T> {
  const outcome = await request.ended();
  if (!outcome.ok) throw outcome.error;
  return outcome.value;
}
