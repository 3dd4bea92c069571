import { type Party, presentCaller, processorTurns, runFor } from "../../base/caller-turns.js";
import type { TenantId } from "../../base/ids.js";
import type { Flow } from "../../base/processor-turns.js";
import { isLarge } from "../../base/yield-to-event-loop.js";
import { classifyFailure } from "../postgres/database-error.js";
import type { BatchedRequest } from "./batched-request.js";
import type { LargeReads } from "./large-reads.js";
import { OverloadDetector } from "./overload-detector.js";
import type { Guard, TransactionWork } from "./started-works.js";
import type { OrdinaryTransaction, Work } from "./transaction.js";
import type { TransactionResult } from "./transaction-result.js";

export interface QueuedRequest extends TransactionWork {
  readonly guard: Guard;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
  /** Where it comes from: the network of a page. Empty for a back end. */
  readonly from: string;
  attempts: number;
  /** Whether it runs alone. Set after it failed in a batch, because a bad request must fail only its own caller. */
  alone: boolean;
  /** Whether it runs in a transaction block, and no pipeline: its work writes before its last step. */
  apart: boolean;
}

interface ArrivingWork<T> {
  readonly work: Work<T, OrdinaryTransaction>;
  readonly guard: Guard;
  readonly reads: LargeReads;
}

export function queuedRequest<T>(
  { work, guard, reads }: ArrivingWork<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): QueuedRequest {
  // The resolved value is the one that this same work returned.
  let value: { readonly of: T } | undefined;
  const caller = presentCaller();
  return {
    guard,
    reads,
    work: async (tx) => {
      // The transaction itself runs for its first request.
      value = { of: await runFor(caller, () => work(tx)) };
    },
    resolve: () => (value ? resolve(value.of) : reject(new Error("work ended without a value"))),
    reject,
    since: performance.now(),
    from: caller?.party === "pages" ? caller.flow().name : "",
    attempts: 0,
    alone: false,
    apart: false,
  };
}

/** An unanswered transaction has held a connection in vain for at least so many milliseconds. */
const STALL_MS = 1_000;
/** Milliseconds for which a tenant is stalled after such a transaction, unless another one commits. */
const STALLED_FOR_MS = 10_000;

/** Milliseconds for which a queue stays out of pipelines after a transaction of it failed, or was slow, in one. */
const APART_FOR_MS = 10_000;
/** The same after it waited for the lock on its log: a minute of it is being closed, which ends by itself. */
const CLOSING_MS = 1_000;
/** A transaction that took so many milliseconds in a pipeline was slow. */
const SLOW_MS = 250;
/** A batch from this size on costs little more in a transaction of its own. */
const LARGE_BATCH = 16;
/**
 * Most bytes of bodies in one transaction with several requests: the commits of all others wait while the database
 * writes its log to the disk.
 */
const MAX_BATCH_BYTES = 1024 * 1024;

/** The requests of one tenant's back end, or of its pages. */
export class TenantQueue {
  readonly tenantId: TenantId;
  readonly party: Party;
  /** For whom the main thread's work on its transactions counts. */
  readonly flow: Flow;
  readonly waiting: QueuedRequest[] = [];
  transactions = 0;
  inFlight = 0;
  readonly #overload = new OverloadDetector();
  #stalledUntil = 0;
  #apartUntil = 0;

  constructor(tenantId: TenantId, party: Party) {
    this.tenantId = tenantId;
    this.party = party;
    this.flow =
      party === "pages" ? { kind: "network", name: `pages of ${tenantId}` } : { kind: "tenant", name: tenantId };
  }

  /**
   * The networks of pages take turns: one with many requests comes after one with few, and those of a back end keep
   * their order.
   */
  add(request: QueuedRequest): void {
    if (this.party === "back end") {
      this.waiting.push(request);
      return;
    }
    const before = new Map<string, number>();
    const own = this.waiting.filter(({ from }) => from === request.from).length;
    const at = this.waiting.findIndex(({ from }) => {
      const count = before.get(from) ?? 0;
      before.set(from, count + 1);
      return count > own;
    });
    this.waiting.splice(at < 0 ? this.waiting.length : at, 0, request);
  }

  /** Most transactions at a time, of those that a tenant may have: half for its pages, which anybody can open. */
  transactionsAtOnce(ofTenant: number): number {
    return this.party === "pages" ? Math.max(1, ofTenant >> 1) : ofTenant;
  }

  /** Whether another request would be too many. */
  isOverloaded(now: number): boolean {
    return this.#overload.isOverloaded(this.waiting.length + this.inFlight, now);
  }

  /** Whether a request was rejected so recently that the next burst is not absorbed. */
  wasOverloaded(now: number): boolean {
    return this.#overload.wasOverloaded(now);
  }

  /**
   * Whether its last transaction waited in vain for the database, or for the tenant's node in a cluster. The next one
   * may take as long.
   */
  isStalled(now: number): boolean {
    return now < this.#stalledUntil;
  }

  /**
   * Whether its next batch may travel in a pipeline with those of other tenants, which wait behind it for what it waits
   * for.
   */
  mayTravel(now: number): boolean {
    if (this.isStalled(now) || this.staysApart(now) || this.waiting.length >= LARGE_BATCH) return false;
    return !this.waiting.some(({ alone, apart, reads }) => alone || apart || isLarge(reads.bodyBytes));
  }

  /** Whether a transaction of it has recently failed, or was slow, in a pipeline. */
  staysApart(now: number): boolean {
    return now < this.#apartUntil;
  }

  /** Records how its transaction in a pipeline ended. */
  hasTravelled(result: TransactionResult, heldMs: number, now: number): void {
    if (waitedForItsLog(result)) this.#apartUntil = Math.max(this.#apartUntil, now + CLOSING_MS);
    else if ((result.kind === "apart" && result.error !== undefined) || heldMs >= SLOW_MS) {
      this.#apartUntil = now + APART_FOR_MS;
    }
  }

  /**
   * A lock that is not granted in time is a response: other rows are free.
   * @param unansweredMs milliseconds for which its connection waited for it.
   */
  ended(result: TransactionResult, unansweredMs: number, now: number): void {
    if (result.kind === "committed") this.#stalledUntil = 0;
    else if (isWithoutResponse(result) && unansweredMs >= STALL_MS) this.#stalledUntil = now + STALLED_FOR_MS;
  }

  /**
   * Takes requests that arrived before a time: one for requests that have not run, and one for those that run again.
   * They may be queued behind others that were in a transaction that was cancelled meanwhile.
   */
  takeLate(newBefore: number, retriedBefore: number): QueuedRequest[] {
    const isLate = ({ attempts, since }: QueuedRequest) => since < (attempts === 0 ? newBefore : retriedBefore);
    const late = this.waiting.filter(isLate);
    if (late.length > 0) this.waiting.splice(0, this.waiting.length, ...this.waiting.filter((one) => !isLate(one)));
    return late;
  }

  /**
   * Whether enough requests wait for an additional transaction, or have waited since `before`. Small transactions
   * beside large ones took a fifth of the capacity for token creation. While more requests of the tenant wait for the
   * main thread than for this transaction, it waits as long for those that may share it.
   */
  isWorthATransaction(before: number, isShared: boolean): boolean {
    const [first] = this.waiting;
    if (first === undefined || first.since <= before) return true;
    if (isShared && processorTurns.waitingOf(this.flow) > this.waiting.length) return false;
    return this.waiting.length * 2 >= this.inFlight;
  }

  /**
   * Takes the first request, and those that may share its transaction: with an equal guard, and none that must run
   * alone. They need not be adjacent. Otherwise a caller that mixes in unknown keys, which are looked up without a
   * guard, could make each request of the tenant run alone.
   */
  nextBatch(most: number): TenantBatch | undefined {
    const [first] = this.waiting;
    if (!first) return undefined;
    const { guard } = first;
    if (first.alone) return { queue: this, requests: this.waiting.splice(0, 1), guard };
    const requests: QueuedRequest[] = [];
    const left: QueuedRequest[] = [];
    let bytes = 0;
    for (const next of this.waiting) {
      const { bodyBytes } = next.reads;
      const fits = requests.length === 0 || (requests.length < most && bytes + bodyBytes <= MAX_BATCH_BYTES);
      const joins = fits && !next.alone && next.guard === guard;
      if (joins) bytes += bodyBytes;
      (joins ? requests : left).push(next);
    }
    this.waiting.splice(0, this.waiting.length, ...left);
    return { queue: this, requests, guard };
  }
}

export interface TenantBatch {
  readonly queue: TenantQueue;
  readonly requests: QueuedRequest[];
  readonly guard: Guard;
}

function isWithoutResponse(result: TransactionResult): boolean {
  if (result.kind !== "aborted") return result.kind === "unknown";
  if (result.culprit !== undefined) return false;
  const trouble = classifyFailure(result.error);
  return trouble === "connection" || trouble === "statement_timeout";
}

/** Whether it failed because a minute of its log is being closed, which locks the tenant's row. */
function waitedForItsLog(result: TransactionResult): boolean {
  if (result.kind !== "apart" || result.table !== "audit_logs") return false;
  return classifyFailure(result.error) === "lock_timeout";
}

/** A request of a committed transaction whose work has not ended. */
export interface UnsettledRequest {
  readonly waiting: QueuedRequest;
  readonly request: BatchedRequest;
}

/**
 * Gives each request of a committed transaction its outcome.
 * @returns the requests whose work has not ended.
 */
export function settle(batch: readonly QueuedRequest[], requests: readonly BatchedRequest[]): UnsettledRequest[] {
  const left: UnsettledRequest[] = [];
  for (const [index, waiting] of batch.entries()) {
    const request = requests[index];
    if (request?.outcome) settleOne(waiting, request.outcome);
    else if (request) left.push({ waiting, request });
  }
  return left;
}

export function settleOne(waiting: QueuedRequest, outcome: NonNullable<BatchedRequest["outcome"]>): void {
  if (outcome.ok) waiting.resolve(undefined);
  else waiting.reject(outcome.error);
}

export function rejectAll(batch: readonly QueuedRequest[], error: Error): void {
  for (const waiting of batch) waiting.reject(error);
}
