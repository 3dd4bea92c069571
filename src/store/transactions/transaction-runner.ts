import { CallerTurns } from "../../base/caller-turns.js";
import type { Clock } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { ConnectionSlot } from "../postgres/connection-slot.js";
import { unavailable } from "../postgres/database-error.js";
import type { BatchLimits } from "./batch-limits.js";
import { ConfirmedRevisions } from "./confirmed-revisions.js";
import { LoggedMinutes } from "./logged-minutes.js";
import {
  type Guard,
  hasLogged,
  mustDiscardSessionAfter,
  runTransaction,
  type TransactionResult,
} from "./shared-transaction.js";
import type { StandbyWait } from "./standby-wait.js";
import { type QueuedRequest, rejectAll, type TenantQueue } from "./tenant-queue.js";

/** A transaction in flight. Once given up, its callers have an error, whatever becomes of it. */
interface RunningTransaction {
  hasEnded: boolean;
  isGivenUp: boolean;
}

/** How a transaction ended. */
export interface EndedTransaction {
  readonly result: TransactionResult;
  readonly startedAt: number;
  /** Its callers have an error already: their work must not run again. */
  readonly isGivenUp: boolean;
}

/** Runs the requests of a tenant in one transaction, on a connection that is free. */
export class TransactionRunner {
  readonly #limits: BatchLimits;
  readonly #clock: Clock;
  readonly #waitsForStandby: StandbyWait;
  readonly #logged = new LoggedMinutes();
  readonly #confirmed = new ConfirmedRevisions();

  constructor(limits: BatchLimits, clock: Clock, waitsForStandby: StandbyWait) {
    this.#limits = limits;
    this.#clock = clock;
    this.#waitsForStandby = waitsForStandby;
  }

  /** When a tenant's rights were last confirmed under a revision, by `performance.now()`; -Infinity if never. */
  confirmedAt(tenantId: TenantId, revision: number): number {
    return this.#confirmed.of(tenantId, revision);
  }

  async run(
    slot: ConnectionSlot,
    queue: TenantQueue,
    batch: readonly QueuedRequest[],
    guard: Guard,
  ): Promise<EndedTransaction> {
    const { tenantId } = queue;
    const startedAt = performance.now();
    const now = new Date(this.#clock.now());
    const transaction: RunningTransaction = { hasEnded: false, isGivenUp: false };
    const late = () => void this.#giveUp(slot, batch, transaction);
    const timeout = setInterval(late, this.#limits.timeoutMs);
    const result = await this.#runOn(slot, queue, { batch, guard, now, giveUp: late });
    if (result.kind === "committed" && guard !== undefined) this.#confirmed.add(tenantId, guard, startedAt);
    if (hasLogged(result)) this.#logged.add(tenantId, now);
    clearInterval(timeout);
    transaction.hasEnded = true;
    if (mustDiscardSessionAfter(result)) slot.renew();
    return { result, startedAt, isGivenUp: transaction.isGivenUp };
  }

  /**
   * Ends a transaction that takes too long by dropping its connection. A commit that waits for a standby is not ended:
   * its callers get an error, and the connection waits on. Otherwise it would be replaced by another one that waits as
   * well, until PostgreSQL had none left.
   */
  async #giveUp(slot: ConnectionSlot, batch: readonly QueuedRequest[], transaction: RunningTransaction): Promise<void> {
    const backend = slot.backendWithStandbys;
    if (backend === undefined) return slot.renew();
    const waits = await this.#waitsForStandby(backend);
    if (transaction.hasEnded) return;
    if (!waits) return slot.renew();
    transaction.isGivenUp = true;
    rejectAll(batch, unavailable("a standby of the database does not confirm the commit"));
  }

  async #runOn(
    slot: ConnectionSlot,
    { tenantId, flow }: TenantQueue,
    { batch, guard, now, giveUp }: PlannedTransaction,
  ): Promise<TransactionResult> {
    const { stepTimeoutMs } = this.#limits;
    const options = {
      tenantId,
      guard,
      now,
      isFirstInMinute: !this.#logged.has(tenantId, now),
      isShared: this.#limits.batch > 1,
      turns: CallerTurns.ofAll(flow),
      late: stepTimeoutMs === undefined ? undefined : { afterMs: stepTimeoutMs, act: giveUp },
    };
    try {
      return await slot.run((inUse) => runTransaction(inUse, { ...options, plansAgain: inUse.plansAgain }, batch));
    } catch (error) {
      return { kind: "aborted", error };
    }
  }
}

interface PlannedTransaction {
  readonly batch: readonly QueuedRequest[];
  readonly guard: Guard;
  readonly now: Date;
  readonly giveUp: () => void;
}
