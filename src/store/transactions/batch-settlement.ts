import { setTimeout as pause } from "node:timers/promises";
import type { TenantId } from "../../base/ids.js";
import { classifyFailure, toStoreError, UniqueViolation, unavailable } from "../postgres/database-error.js";
import { isDiskFull } from "../postgres/disk-probe.js";
import type { BatchLimits } from "./batch-limits.js";
import { type CommitLookup, resolveUnknownCommit } from "./commit-lookup.js";
import type { TransactionResult } from "./shared-transaction.js";
import { type QueuedRequest, rejectAll, settle, settleOne, type TenantQueue } from "./tenant-queue.js";

/**
 * Most attempts, the first included, before a conflict or an unavailable database is reported to the caller. Only this
 * module retries transactions: after a serialization failure, a deadlock, a key that another transaction has just taken (the next
 * attempt finds its row), and a lost connection.
 */
const ATTEMPTS = 5;

export interface SettlementParts {
  readonly limits: Pick<BatchLimits, "retryDelays" | "timeoutMs">;
  readonly wasCommitted: CommitLookup;
  /** Puts requests first in their queue. */
  readonly requeue: (queue: TenantQueue, batch: QueuedRequest[]) => void;
  /** The database reported a full disk. */
  readonly onFullDisk: () => void;
  /** The tenant's log is closed beyond this server's clock. */
  readonly onClosedMinute: (tenantId: TenantId) => void;
}

/** Decides what follows the end of a transaction: outcomes, rejections, or another attempt. */
export class BatchSettlement {
  readonly #parts: SettlementParts;

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  /** Gives each request of an ended transaction its outcome, or lets it run again. */
  async settle(queue: TenantQueue, batch: QueuedRequest[], result: TransactionResult): Promise<void> {
    if (result.kind === "committed") {
      // Work that got its last output with the commit ends after it, and does not delay others.
      for (const { waiting, request } of settle(batch, result.requests)) {
        void request.ended().then((outcome) => settleOne(waiting, outcome));
      }
      return;
    }
    const { tenantId } = queue;
    if (result.kind === "unknown") {
      const committed = await resolveUnknownCommit(this.#parts.wasCommitted, this.#parts.limits.retryDelays, {
        ...result,
        tenantId,
      });
      if (committed === "unreachable") return rejectAll(batch, unavailable("commit outcome unknown"));
      // If committed, only requests whose last output was lost with the connection run again.
      const unsettled = committed ? settle(batch, result.requests).map(({ waiting }) => waiting) : batch;
      return this.#retry(queue, unsettled, unavailable("connection lost during commit"));
    }
    if (result.culprit !== undefined) {
      const [culprit] = batch.splice(result.culprit, 1);
      culprit?.reject(result.error);
      this.#parts.requeue(queue, batch);
      return;
    }
    if (isDiskFull(result.error)) this.#parts.onFullDisk();
    switch (classifyFailure(result.error)) {
      case "stale_authorization":
        return rejectAll(batch, toStoreError(result.error));
      case "serialization":
      case "stale_session":
        return this.#retry(queue, batch, unavailable("transactions kept conflicting"));
      case "connection":
        return this.#retry(queue, batch, unavailable("database unreachable"));
      case "closed_minute":
        this.#parts.onClosedMinute(tenantId);
        return this.#retry(queue, batch, unavailable("the tenant's log is closed beyond this server's clock"));
      default:
    }
    if (batch.length === 1) {
      const error = toStoreError(result.error, result.table);
      return error instanceof UniqueViolation ? this.#retry(queue, batch, error) : rejectAll(batch, error);
    }
    for (const waiting of batch) waiting.alone = true;
    this.#parts.requeue(queue, batch);
  }

  /** Runs requests again after a growing delay. Rejects those that have had all attempts, or arrived over twice `timeoutMs` ago. */
  async #retry(queue: TenantQueue, batch: QueuedRequest[], finalError: Error): Promise<void> {
    if (batch.length === 0) return;
    const tooOld = performance.now() - 2 * this.#parts.limits.timeoutMs;
    for (const waiting of batch) waiting.attempts += 1;
    const hopeful = batch.filter(({ attempts, since }) => attempts < ATTEMPTS && since > tooOld);
    rejectAll(
      batch.filter((waiting) => !hopeful.includes(waiting)),
      finalError,
    );
    const attempt = hopeful[0]?.attempts ?? 1;
    await pause(25 * 2 ** attempt * (0.5 + Math.random()));
    this.#parts.requeue(queue, hopeful);
  }
}
