import { setTimeout as pause } from "node:timers/promises";
import { unavailable } from "../../base/fault.js";
import type { TenantId } from "../../base/ids.js";
import { classifyFailure, toStoreError, UniqueViolation } from "../postgres/database-error.js";
import { isDiskFull } from "../postgres/disk-probe.js";
import type { BatchLimits } from "./batch-limits.js";
import { type CommitLookup, resolveUnknownCommit } from "./commit-lookup.js";
import { rejectAll, settle, settleOne, type TenantBatch } from "./tenant-queue.js";
import type { TransactionResult } from "./transaction-result.js";

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
  readonly requeue: (batch: TenantBatch) => void;
  readonly onFullDisk: () => void;
  /** The tenant's log is closed beyond this server's clock. */
  readonly onClosedMinute: (tenantId: TenantId) => void;
}

export interface SettledBatch {
  readonly batch: TenantBatch;
  readonly result: TransactionResult;
}

type UnknownResult = Extract<TransactionResult, { readonly kind: "unknown" }>;
type KnownResult = Exclude<TransactionResult, UnknownResult>;
type UnsureBatch = SettledBatch & { readonly result: UnknownResult };

/** Decides what follows the end of a transaction: outcomes, rejections, or another attempt. */
export class BatchSettlement {
  readonly #parts: SettlementParts;

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  /** Gives each request of transactions that have ended its outcome, or lets it run again. */
  async settle(ended: readonly SettledBatch[]): Promise<void> {
    const unsure: UnsureBatch[] = [];
    const settling = ended.map(({ batch, result }) => {
      if (result.kind !== "unknown") return this.#settle(batch, result);
      unsure.push({ batch, result });
      return undefined;
    });
    await Promise.all([...settling, this.#lookUp(unsure)]);
  }

  /** Looks up what became of commits of one session. */
  async #lookUp(unsure: readonly UnsureBatch[]): Promise<void> {
    const [first] = unsure;
    if (!first) return;
    const rows = unsure.map(({ batch, result }) => ({ tenantId: batch.queue.tenantId, marker: result.marker }));
    const { wasCommitted, limits } = this.#parts;
    const committed = await resolveUnknownCommit(wasCommitted, limits.retryDelays, {
      rows,
      backend: first.result.backend,
    });
    await Promise.all(
      unsure.map(({ batch, result }, index) => {
        if (committed === "unreachable") return rejectAll(batch.requests, unavailable("commit outcome unknown"));
        // If committed, only requests whose last output was lost with the connection run again.
        const unsettled = committed[index]
          ? settle(batch.requests, result.requests).map(({ waiting }) => waiting)
          : batch.requests;
        return this.#retry({ ...batch, requests: unsettled }, unavailable("connection lost during commit"));
      }),
    );
  }

  async #settle(batch: TenantBatch, result: KnownResult): Promise<void> {
    const { queue, requests } = batch;
    if (result.kind === "committed") {
      // Work that got its last output with the commit ends after it, and does not delay others.
      for (const { waiting, request } of settle(requests, result.requests)) {
        void request.ended().then((outcome) => settleOne(waiting, outcome));
      }
      return;
    }
    if (result.kind === "apart") {
      for (const waiting of requests) waiting.apart = true;
      return this.#parts.requeue(batch);
    }
    if (result.culprit !== undefined) {
      const [culprit] = requests.splice(result.culprit, 1);
      culprit?.reject(result.error);
      this.#parts.requeue(batch);
      return;
    }
    if (isDiskFull(result.error)) this.#parts.onFullDisk();
    switch (classifyFailure(result.error)) {
      case "stale_authorization":
        return rejectAll(requests, toStoreError(result.error));
      case "serialization":
      case "stale_session":
        return this.#retry(batch, unavailable("transactions kept conflicting"));
      case "connection":
        return this.#retry(batch, unavailable("database unreachable"));
      case "closed_minute":
        this.#parts.onClosedMinute(queue.tenantId);
        return this.#retry(batch, unavailable("the tenant's log is closed beyond this server's clock"));
      default:
    }
    if (requests.length === 1) {
      const error = toStoreError(result.error, result.table);
      return error instanceof UniqueViolation ? this.#retry(batch, error) : rejectAll(requests, error);
    }
    for (const waiting of requests) waiting.alone = true;
    this.#parts.requeue(batch);
  }

  /** Runs requests again after a growing delay. Rejects those that have had all attempts, or arrived over twice `timeoutMs` ago. */
  async #retry(batch: TenantBatch, finalError: Error): Promise<void> {
    const { requests } = batch;
    if (requests.length === 0) return;
    const tooOld = performance.now() - 2 * this.#parts.limits.timeoutMs;
    for (const waiting of requests) waiting.attempts += 1;
    const hopeful = requests.filter(({ attempts, since }) => attempts < ATTEMPTS && since > tooOld);
    rejectAll(
      requests.filter((waiting) => !hopeful.includes(waiting)),
      finalError,
    );
    const attempt = hopeful[0]?.attempts ?? 1;
    await pause(25 * 2 ** attempt * (0.5 + Math.random()));
    this.#parts.requeue({ ...batch, requests: hopeful });
  }
}
