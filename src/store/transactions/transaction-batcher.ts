import type { Clock } from "../../base/clock.js";
import type { Fault } from "../../base/fault.js";
import type { TenantId } from "../../base/ids.js";
import type { ConnectionSlot } from "../postgres/connection-slot.js";
import { unavailable } from "../postgres/database-error.js";
import type { BatchLimits } from "./batch-limits.js";
import { type BatchLoad, TransactionCounts } from "./batch-load.js";
import { BatchSettlement } from "./batch-settlement.js";
import type { CommitLookup } from "./commit-lookup.js";
import { ConfirmedRevisions } from "./confirmed-revisions.js";
import { LargeReads, MemoryNeeded, type ReadMemory } from "./large-reads.js";
import { LoggedMinutes } from "./logged-minutes.js";
import { MAX_PENDING } from "./overload-detector.js";
import {
  type Guard,
  hasLogged,
  mustDiscardSessionAfter,
  runTransaction,
  type TransactionResult,
} from "./shared-transaction.js";
import { type QueuedRequest, queuedRequest, rejectAll, TenantQueue } from "./tenant-queue.js";
import type { OrdinaryTransaction, TransactionStart, Work } from "./transaction.js";

const STOPPING = "the server is stopping";
/** Created once, because a new error per request would cost more than its rejection. */
const OVERLOADED = unavailable("more requests arrive than the server can handle");

/**
 * Lets requests of one tenant share transactions. Tenants take turns. The first transaction never waits; requests that
 * arrive meanwhile share the next one. With a batch size of one, each request has its own transaction. Stalled tenants
 * share half of the connections.
 */
export class TransactionBatcher {
  readonly #free: ConnectionSlot[];
  readonly #slots: readonly ConnectionSlot[];
  readonly #limits: BatchLimits;
  readonly #clock: Clock;
  readonly #settlement: BatchSettlement;
  readonly #queues = new Map<TenantId, TenantQueue>();
  /** Tenants in the order of their turns. */
  readonly #turns = new Set<TenantQueue>();
  readonly #logged = new LoggedMinutes();
  readonly #confirmed = new ConfirmedRevisions();
  readonly #counts = new TransactionCounts();
  #queued = 0;
  /** Called when a tenant's log is found to be closed beyond this server's clock. */
  onClosedMinute: ((tenantId: TenantId) => void) | undefined;
  /** Whether the database reported a full disk, and has not been seen to take writes since. */
  lacksDisk = false;
  #scheduled = false;
  #isClosed = false;
  /** Checks for requests that have waited too long while any waits, because a stuck database causes no event. */
  #watch: NodeJS.Timeout | undefined;
  /** Ends the batching window. */
  #window: NodeJS.Timeout | undefined;

  constructor(slots: readonly ConnectionSlot[], limits: BatchLimits, clock: Clock, wasCommitted: CommitLookup) {
    this.#slots = slots;
    this.#free = [...slots];
    this.#limits = limits;
    this.#clock = clock;
    this.#settlement = new BatchSettlement({
      limits,
      wasCommitted,
      requeue: (tenantId, batch) => this.#requeue(tenantId, batch),
      onFullDisk: () => {
        this.lacksDisk = true;
      },
      onClosedMinute: (tenantId) => this.onClosedMinute?.(tenantId),
    });
  }

  /** Requests that wait for a transaction. */
  get queued(): number {
    return this.#queued;
  }

  get load(): BatchLoad {
    const connections = this.#slots.length;
    const used = connections - this.#free.length;
    const { transactions, requests } = this.#counts;
    return { connections, used, queued: this.#queued, transactions, requests };
  }

  /** When a tenant's rights were last confirmed under a revision, by `performance.now()`; -Infinity if never. */
  confirmedAt(tenantId: TenantId, revision: number): number {
    return this.#confirmed.of(tenantId, revision);
  }

  /** Whether any tenant may be overloading the server: a cheap check before a request's tenant is known. */
  get isBusy(): boolean {
    return this.#queued + this.#counts.inFlight >= MAX_PENDING;
  }

  /** Why a tenant's request is rejected before any part of it is read; undefined if there is room for it. */
  overloadFault(tenantId: TenantId): Fault | undefined {
    const isOverloaded = this.#queues.get(tenantId)?.isOverloaded(performance.now()) ?? false;
    return isOverloaded || this.#queued >= this.#limits.queueInAll ? OVERLOADED : undefined;
  }

  /** @throws {Fault} unavailable while this tenant overloads the server or the queue of all tenants is full. */
  requireRoom(tenantId: TenantId): void {
    const refusal = this.overloadFault(tenantId);
    if (refusal) throw refusal;
  }

  /**
   * Runs work in a transaction: shared with other requests of the tenant, or ordinary if the batch size is one.
   * @throws {StaleAuthorization} if the tenant's rights changed after `guard`.
   * @throws {UniqueViolation} if an insert found its key taken at each attempt.
   * @throws {LockTimeout} if another transaction held a row for too long.
   * @throws {Fault} unavailable if the queue is full, the database stays away, or there is no memory.
   * @param memory for large values that the work reads. Absent: they are not counted.
   */
  run<T>(
    tenantId: TenantId,
    guard: Guard,
    work: Work<T, OrdinaryTransaction>,
    memory: ReadMemory | undefined = undefined,
  ): Promise<T> {
    const reads = new LargeReads(memory);
    return new Promise<T>((resolve, reject) => {
      const fail = (error: unknown) => {
        if (error instanceof MemoryNeeded) return void reads.waitFor(error).then(enqueue, reject);
        reads.release();
        reject(error);
      };
      const enqueue = () => this.#enqueue(tenantId, queuedRequest(work, guard, reads, resolve, fail));
      enqueue();
    });
  }

  #enqueue(tenantId: TenantId, request: QueuedRequest): void {
    if (this.#isClosed) {
      request.reject(unavailable(STOPPING));
      return;
    }
    const queue = this.#queueOf(tenantId);
    if (queue.waiting.length >= this.#limits.queuePerTenant || this.#queued >= this.#limits.queueInAll) {
      request.reject(unavailable("the queue for the database is full"));
      return;
    }
    this.#queued += 1;
    queue.waiting.push(request);
    this.#enlist(queue);
  }

  /** Rejects waiting and new requests, and lets running transactions end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#watch);
    clearTimeout(this.#window);
    for (const queue of this.#queues.values()) rejectAll(queue.waiting.splice(0), unavailable(STOPPING));
    this.#queued = 0;
    await Promise.all(this.#slots.map((slot) => slot.close()));
  }

  #queueOf(tenantId: TenantId): TenantQueue {
    let queue = this.#queues.get(tenantId);
    if (!queue) {
      queue = new TenantQueue(tenantId);
      this.#queues.set(tenantId, queue);
    }
    return queue;
  }

  #enlist(queue: TenantQueue): void {
    this.#turns.add(queue);
    this.#wake();
  }

  /**
   * Every request that arrives in this turn of the event loop or the next one joins. The requests that an HTTP/2
   * connection brings come in several turns: with the second turn, 22 of 32 share a transaction instead of 13.
   */
  #wake(): void {
    this.#watch ??= setInterval(() => this.#expireAll(), 250).unref();
    if (this.#scheduled) return;
    this.#scheduled = true;
    const dispatch = () => {
      this.#scheduled = false;
      this.#dispatch();
    };
    setImmediate(this.#limits.batch > 1 ? () => setImmediate(dispatch) : dispatch);
  }

  #dispatch(): void {
    let hasStarted = this.#giveTurns();
    while (hasStarted) hasStarted = this.#giveTurns();
  }

  /**
   * Starts one transaction for each tenant that may have another, while connections are free. Returns whether any
   * started.
   */
  #giveTurns(): boolean {
    const later: TenantQueue[] = [];
    let hasStarted = false;
    const now = performance.now();
    for (const queue of this.#turns) {
      if (this.#free.length === 0) break;
      this.#turns.delete(queue);
      const batch = this.#mayStart(queue, now) ? queue.nextBatch(this.#limits.batch) : [];
      this.#queued -= batch.length;
      if (queue.waiting.length > 0) later.push(queue);
      const [first] = batch;
      const slot = first && this.#free.pop();
      if (!slot) continue;
      hasStarted = true;
      void this.#start(slot, queue, batch, first.guard);
    }
    for (const queue of later) this.#turns.add(queue);
    return hasStarted;
  }

  #mayStart(queue: TenantQueue, now: number): boolean {
    if (queue.transactions >= this.#limits.transactionsPerTenant) return false;
    if (queue.isStalled(now) && this.#counts.stalled >= Math.max(1, Math.floor(this.#slots.length / 2))) return false;
    if (queue.isWorthATransaction(now - this.#limits.batchingWindowMs)) return true;
    // No other event may wake the dispatcher, so set a timer.
    this.#window ??= setTimeout(() => {
      this.#window = undefined;
      this.#wake();
    }, this.#limits.batchingWindowMs);
    return false;
  }

  #expireAll(): void {
    const now = performance.now();
    for (const queue of this.#queues.values()) {
      const late = queue.takeLate(now - this.#limits.waitMs, now - 2 * this.#limits.timeoutMs);
      this.#queued -= late.length;
      if (late.length > 0) rejectAll(late, unavailable("waited too long for the database"));
      this.#forget(queue);
    }
    if (this.#queues.size === 0) {
      clearInterval(this.#watch);
      this.#watch = undefined;
    }
  }

  #forget(queue: TenantQueue): void {
    if (queue.transactions > 0 || queue.waiting.length > 0) return;
    this.#turns.delete(queue);
    const now = performance.now();
    if (queue.wasOverloaded(now) || queue.isStalled(now)) return;
    // While its last transaction was being settled, another queue may have replaced it.
    if (this.#queues.get(queue.tenantId) === queue) this.#queues.delete(queue.tenantId);
  }

  async #start(slot: ConnectionSlot, queue: TenantQueue, batch: QueuedRequest[], guard: Guard): Promise<void> {
    const { tenantId } = queue;
    const startedAt = performance.now();
    const { length } = batch;
    const isStalled = queue.isStalled(startedAt);
    this.#counts.started(queue, length, isStalled);
    const timeout = setTimeout(() => slot.renew(), this.#limits.timeoutMs);
    const now = new Date(this.#clock.now());
    const start = { now, isFirstInMinute: !this.#logged.has(tenantId, now) };
    const result = await this.#runOn(slot, { ...start, tenantId, guard }, batch);
    if (result.kind === "committed" && guard !== "unguarded") this.#confirmed.add(tenantId, guard, startedAt);
    if (hasLogged(result)) this.#logged.add(tenantId, now);
    clearTimeout(timeout);
    queue.ended(result, startedAt, performance.now());
    if (mustDiscardSessionAfter(result)) slot.renew();
    this.#free.push(slot);
    this.#counts.ended(queue, length, isStalled);
    this.#wake();
    await this.#settlement.settle(tenantId, batch, result);
    this.#forget(queue);
  }

  async #runOn(
    slot: ConnectionSlot,
    start: TransactionStart & { readonly tenantId: TenantId; readonly guard: Guard },
    batch: readonly QueuedRequest[],
  ): Promise<TransactionResult> {
    const { stepTimeoutMs } = this.#limits;
    const isShared = this.#limits.batch > 1;
    try {
      return await slot.run((inUse) =>
        runTransaction(inUse, { ...start, isShared, stepTimeoutMs, plansAgain: inUse.plansAgain }, batch),
      );
    } catch (error) {
      return { kind: "aborted", error };
    }
  }

  #requeue(tenantId: TenantId, batch: QueuedRequest[]): void {
    if (batch.length === 0) return;
    if (this.#isClosed) {
      rejectAll(batch, unavailable(STOPPING));
      return;
    }
    const queue = this.#queueOf(tenantId);
    this.#queued += batch.length;
    queue.waiting.unshift(...batch);
    this.#enlist(queue);
  }
}
