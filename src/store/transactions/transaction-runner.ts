import { CallerTurns } from "../../base/caller-turns.js";
import type { Clock } from "../../base/clock.js";
import { unavailable } from "../../base/fault.js";
import type { TenantId } from "../../base/ids.js";
import type { ConnectionInUse, ConnectionSlot } from "../postgres/connection-slot.js";
import type { BatchLimits } from "./batch-limits.js";
import { ConfirmedRevisions } from "./confirmed-revisions.js";
import { LoggedMinutes } from "./logged-minutes.js";
import { runTransaction } from "./shared-transaction.js";
import type { StandbyWait } from "./standby-wait.js";
import type { StartOptions } from "./started-works.js";
import { rejectAll, type TenantBatch } from "./tenant-queue.js";
import { type EndedWorks, runPipeline, type TenantWorks } from "./transaction-pipeline.js";
import { hasLogged, mustDiscardSessionAfter } from "./transaction-result.js";

interface Running {
  readonly slot: ConnectionSlot;
  readonly startedAt: number;
  /** Those that have not ended. */
  readonly batches: Set<TenantBatch>;
  /** The callers have an error already, whatever becomes of their transactions. */
  isGivenUp: boolean;
  readonly onEnded: (ended: readonly EndedBatch[]) => void;
}

export interface EndedBatch extends Omit<EndedWorks<TenantWorks>, "works"> {
  readonly batch: TenantBatch;
  /** Its callers have an error already: their work must not run again. */
  readonly isGivenUp: boolean;
}

interface BatchWorks extends TenantWorks {
  readonly batch: TenantBatch;
}

export class TransactionRunner {
  readonly #limits: BatchLimits;
  readonly #clock: Clock;
  readonly #waitsForStandby: StandbyWait;
  readonly #logged = new LoggedMinutes();
  readonly #confirmed = new ConfirmedRevisions();
  /**
   * Whether several tenants may share a pipeline. Not on Citus, whose transactions wait for the tenants' nodes one after
   * the other, and where the coordinator's commit makes nothing durable on them.
   */
  mayPipeline = true;

  constructor(limits: BatchLimits, clock: Clock, waitsForStandby: StandbyWait) {
    this.#limits = limits;
    this.#clock = clock;
    this.#waitsForStandby = waitsForStandby;
  }

  /** When a tenant's rights were last confirmed under a revision, by `performance.now()`; -Infinity if never. */
  confirmedAt(tenantId: TenantId, revision: number): number {
    return this.#confirmed.of(tenantId, revision);
  }

  /**
   * Runs one tenant's requests in a transaction, or those of several in a pipeline. Resolves when the connection is free.
   * @param onEnded takes each of the batches once.
   */
  async run(
    slot: ConnectionSlot,
    batches: readonly TenantBatch[],
    onEnded: (ended: readonly EndedBatch[]) => void,
  ): Promise<void> {
    const startedAt = performance.now();
    const running: Running = { slot, startedAt, batches: new Set(batches), isGivenUp: false, onEnded };
    const now = new Date(this.#clock.now());
    const works = batches.map((batch) => this.#worksOf(batch, now));
    const late = () => void this.#giveUp(running);
    const timeout = setInterval(late, this.#limits.timeoutMs);
    try {
      await slot.run((inUse) => this.#runOn(running, inUse, works, late));
    } catch (error) {
      // There was no connection, or a defect of our own ended the transaction: no tenant's statements kept it waiting.
      const left = works.filter(({ batch }) => running.batches.has(batch));
      this.#end(
        running,
        left.map((each) => ({ works: each, result: { kind: "aborted", error }, unansweredMs: 0 })),
      );
    }
    clearInterval(timeout);
  }

  async #runOn(
    running: Running,
    inUse: ConnectionInUse,
    works: readonly BatchWorks[],
    giveUp: () => void,
  ): Promise<void> {
    const { plansAgain, engine } = inUse;
    const { stepTimeoutMs } = this.#limits;
    const late = stepTimeoutMs === undefined ? undefined : { afterMs: stepTimeoutMs, act: giveUp };
    this.mayPipeline = engine === "postgresql";
    if (this.mayPipeline && works.length > 1) {
      const onEnded = (ended: readonly EndedWorks<BatchWorks>[]) => this.#end(running, ended);
      return runPipeline(inUse, { plansAgain, late, onEnded }, works);
    }
    for (const each of works) {
      const since = performance.now();
      const turns = CallerTurns.ofAll(each.batch.queue.flow);
      const options = { ...each.start, guard: each.guard, turns, plansAgain, late };
      const result = await runTransaction(inUse, options, each.works);
      this.#end(running, [{ works: each, result, unansweredMs: performance.now() - since }]);
    }
  }

  #worksOf(batch: TenantBatch, now: Date): BatchWorks {
    const { tenantId } = batch.queue;
    const start: StartOptions = {
      tenantId,
      now,
      isFirstInMinute: !this.#logged.has(tenantId, now),
      isShared: this.#limits.batch > 1,
    };
    return { batch, start, guard: batch.guard, works: batch.requests };
  }

  #end(running: Running, all: readonly EndedWorks<BatchWorks>[]): void {
    const { startedAt, isGivenUp } = running;
    if (all.some(({ result }) => mustDiscardSessionAfter(result))) running.slot.renew();
    for (const { works, result } of all) {
      const { tenantId, now } = works.start;
      if (result.kind === "committed" && works.guard !== undefined) {
        this.#confirmed.add(tenantId, works.guard, startedAt);
      }
      if (hasLogged(result)) this.#logged.add(tenantId, now);
      running.batches.delete(works.batch);
    }
    running.onEnded(all.map(({ works, ...end }) => ({ ...end, batch: works.batch, isGivenUp })));
  }

  /**
   * Ends transactions that take too long by dropping their connection. A commit that waits for a standby is not ended:
   * its callers get an error, and the connection waits on. Otherwise it would be replaced by another one that waits as
   * well, until PostgreSQL had none left.
   */
  async #giveUp(running: Running): Promise<void> {
    const { slot, batches } = running;
    const backend = slot.backendWithStandbys;
    if (backend === undefined) return slot.renew();
    const waits = await this.#waitsForStandby(backend);
    if (batches.size === 0) return;
    if (!waits) return slot.renew();
    running.isGivenUp = true;
    for (const { requests } of batches)
      rejectAll(requests, unavailable("a standby of the database does not confirm the commit"));
  }
}
