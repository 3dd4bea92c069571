import { type Party, presentParty } from "../../base/caller-turns.js";
import type { Clock } from "../../base/clock.js";
import type { Fault } from "../../base/fault.js";
import { unavailable } from "../../base/fault.js";
import type { TenantId } from "../../base/ids.js";
import type { ConnectionSlot } from "../postgres/connection-slot.js";
import type { BatchLimits } from "./batch-limits.js";
import { type BatchLoad, TransactionCounts } from "./batch-load.js";
import { BatchSettlement } from "./batch-settlement.js";
import type { CommitLookup } from "./commit-lookup.js";
import { DispatchTimers } from "./dispatch-timers.js";
import { LargeReads, MemoryNeeded, type ReadMemory } from "./large-reads.js";
import { MAX_PENDING } from "./overload-detector.js";
import { RunningPipelines } from "./running-pipelines.js";
import type { StandbyWait } from "./standby-wait.js";
import type { Guard } from "./started-works.js";
import { type QueuedRequest, queuedRequest, rejectAll, type TenantBatch, type TenantQueue } from "./tenant-queue.js";
import { TenantQueues } from "./tenant-queues.js";
import type { OrdinaryTransaction, Work } from "./transaction.js";
import { type EndedBatch, TransactionRunner } from "./transaction-runner.js";

const STOPPING = "the server is stopping";
/** Created once, because a new error per request would cost more than its rejection. */
const OVERLOADED = unavailable("more requests arrive than the server can handle");

/** How the database is asked about a commit without a response. */
export interface UnsureCommits {
  readonly wasCommitted: CommitLookup;
  readonly waitsForStandby: StandbyWait;
}

/**
 * Lets requests of one tenant share transactions. Tenants take turns, and so do a tenant's back end and its pages. The
 * first transaction never waits; requests that arrive meanwhile share the next one. With a batch size of one, each
 * request has its own transaction. Stalled tenants share half of the connections.
 */
export class TransactionBatcher {
  readonly #free: ConnectionSlot[];
  readonly #slots: readonly ConnectionSlot[];
  readonly #limits: BatchLimits;
  readonly #runner: TransactionRunner;
  readonly #settlement: BatchSettlement;
  readonly #queues = new TenantQueues();
  readonly #timers: DispatchTimers;
  readonly #pipelines: RunningPipelines;
  readonly #counts = new TransactionCounts();
  /** Called when a tenant's log is found to be closed beyond this server's clock. */
  onClosedMinute: ((tenantId: TenantId) => void) | undefined;
  /** Whether the database reported a full disk, and has not been seen to take writes since. */
  lacksDisk = false;
  #isClosed = false;
  /** Checks for requests that have waited too long while any waits, because a stuck database causes no event. */
  #watch: NodeJS.Timeout | undefined;

  constructor(slots: readonly ConnectionSlot[], limits: BatchLimits, clock: Clock, unsure: UnsureCommits) {
    this.#slots = slots;
    this.#free = [...slots];
    this.#limits = limits;
    this.#runner = new TransactionRunner(limits, clock, unsure.waitsForStandby);
    this.#pipelines = new RunningPipelines(limits);
    this.#timers = new DispatchTimers(() => this.#dispatch(), limits.batch > 1);
    this.#settlement = new BatchSettlement({
      limits,
      wasCommitted: unsure.wasCommitted,
      requeue: (batch) => this.#requeue(batch),
      onFullDisk: () => {
        this.lacksDisk = true;
      },
      onClosedMinute: (tenantId) => this.onClosedMinute?.(tenantId),
    });
  }

  get queued(): number {
    return this.#queues.waiting;
  }

  get load(): BatchLoad {
    const connections = this.#slots.length;
    const used = connections - this.#free.length;
    const { transactions, requests } = this.#counts;
    return { connections, used, queued: this.queued, transactions, requests };
  }

  /** When a tenant's rights were last confirmed under a revision, by `performance.now()`; -Infinity if never. */
  confirmedAt(tenantId: TenantId, revision: number): number {
    return this.#runner.confirmedAt(tenantId, revision);
  }

  /** Whether any tenant may be overloading the server: a cheap check before a request's tenant is known. */
  get isBusy(): boolean {
    return this.queued + this.#counts.inFlight >= MAX_PENDING;
  }

  /**
   * Why a request of a tenant's back end, or of its pages, is rejected before any part of it is read; undefined if there
   * is room for it.
   */
  overloadFault(tenantId: TenantId, party: Party): Fault | undefined {
    const isOverloaded = this.#queues.peek(tenantId, party)?.isOverloaded(performance.now()) ?? false;
    return isOverloaded || this.queued >= this.#limits.queueInAll ? OVERLOADED : undefined;
  }

  /** @throws {Fault} unavailable while the party overloads the server or the queue of all tenants is full. */
  requireRoom(tenantId: TenantId, party: Party): void {
    const refusal = this.overloadFault(tenantId, party);
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
      const enqueue = () => this.#enqueue(tenantId, queuedRequest({ work, guard, reads }, resolve, fail));
      enqueue();
    });
  }

  #enqueue(tenantId: TenantId, request: QueuedRequest): void {
    if (this.#isClosed) {
      request.reject(unavailable(STOPPING));
      return;
    }
    const queue = this.#queues.of(tenantId, presentParty());
    if (queue.waiting.length >= this.#limits.queuePerTenant || this.queued >= this.#limits.queueInAll) {
      request.reject(unavailable("the queue for the database is full"));
      return;
    }
    this.#queues.add(queue, request);
    const now = performance.now();
    const fullFor = this.#mayTravel(queue, now) ? this.#pipelines.fullFor(now) : undefined;
    this.#watchWaiting();
    // The end of a pipeline is an event, too.
    if (fullFor === undefined) this.#timers.soon();
    else this.#timers.later(fullFor);
  }

  /** Rejects waiting and new requests, and lets running transactions end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#watch);
    this.#timers.stop();
    rejectAll(this.#queues.takeAll(), unavailable(STOPPING));
    await Promise.all(this.#slots.map((slot) => slot.close()));
  }

  #wake(): void {
    this.#watchWaiting();
    this.#timers.soon();
  }

  #watchWaiting(): void {
    this.#watch ??= setInterval(() => this.#expireAll(), 250).unref();
  }

  /** Starts a transaction for each queue that may have another, and again, while connections are free. */
  #dispatch(): void {
    let hasStarted = true;
    while (hasStarted) hasStarted = this.#startNext(true);
    // While a pipeline waits for more tenants, others take the connection that was left for it.
    if (this.#free.length > 0) this.#startNext(false);
  }

  /** @param leavesOne whether a connection is left for a pipeline whose tenants come before. */
  #startNext(leavesOne: boolean): boolean {
    let hasStarted = false;
    const now = performance.now();
    const travelling: TenantQueue[] = [];
    this.#queues.round(
      () => this.#free.length === 0 || travelling.length === this.#limits.batch,
      (queue) => {
        if (!this.#mayStart(queue, now)) return;
        const left = leavesOne && travelling.length > 0 ? 1 : 0;
        if (this.#mayTravel(queue, now)) travelling.push(queue);
        else if (this.#free.length > left) hasStarted = this.#startAlone(queue) || hasStarted;
      },
    );
    return this.#startPipeline(travelling, now) || hasStarted;
  }

  /** Whether the queue's next batch may share a pipeline with those of other tenants. */
  #mayTravel(queue: TenantQueue, now: number): boolean {
    const { batch, pipelines } = this.#limits;
    return batch > 1 && pipelines > 0 && this.#runner.mayPipeline && queue.mayTravel(now);
  }

  #startAlone(queue: TenantQueue): boolean {
    const batch = this.#free.length > 0 ? queue.nextBatch(this.#limits.batch) : undefined;
    const slot = batch && this.#free.pop();
    if (!slot) return false;
    void this.#start(slot, [batch]);
    return true;
  }

  /** Lets the next batches of queues travel together, unless they should wait for others or for a connection. */
  #startPipeline(queues: readonly TenantQueue[], now: number): boolean {
    const [first] = queues;
    if (!first || this.#free.length === 0) return false;
    const since = Math.min(...queues.map(({ waiting }) => waiting[0]?.since ?? now));
    const wait = this.#pipelines.fullFor(now) ?? this.#pipelines.worthWaiting(now, queues.length, since);
    if (wait > 0) {
      // No other event may come.
      this.#timers.later(wait);
      return false;
    }
    const batches: TenantBatch[] = [];
    let room = this.#limits.batch;
    for (const queue of queues) {
      const batch = room > 0 ? this.#queues.take(queue, room) : undefined;
      if (batch) batches.push(batch);
      room -= batch?.requests.length ?? 0;
    }
    const slot = batches.length > 0 ? this.#free.pop() : undefined;
    if (!slot) return false;
    const running = this.#start(slot, batches);
    // A tenant with many requests keeps no pipeline from others.
    const isOfOthers = batches.some(({ queue }) => queue.transactions === 1);
    if (isOfOthers) void running.then(this.#pipelines.started(now, batches.length));
    return true;
  }

  #mayStart(queue: TenantQueue, now: number): boolean {
    if (queue.transactions >= queue.transactionsAtOnce(this.#limits.transactionsPerTenant)) return false;
    if (queue.isStalled(now) && this.#counts.stalled >= Math.max(1, Math.floor(this.#slots.length / 2))) return false;
    const isShared = this.#limits.batch > 1;
    if (queue.isWorthATransaction(now - this.#limits.batchingWindowMs, isShared)) return true;
    // No other event may come.
    this.#timers.later(this.#limits.batchingWindowMs);
    return false;
  }

  #expireAll(): void {
    const now = performance.now();
    const late = this.#queues.takeLate(now - this.#limits.waitMs, now - 2 * this.#limits.timeoutMs);
    rejectAll(late, unavailable("waited too long for the database"));
    if (!this.#queues.isEmpty) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  /** Runs batches, and gives the connection back. */
  async #start(slot: ConnectionSlot, batches: readonly TenantBatch[]): Promise<void> {
    const stalled = new Set(batches.filter(({ queue }) => queue.isStalled(performance.now())));
    for (const batch of batches) this.#counts.started(batch, stalled.has(batch));
    await this.#runner.run(slot, batches, (ended) => {
      const now = performance.now();
      for (const { batch, result, unansweredMs, heldMs } of ended) {
        batch.queue.ended(result, unansweredMs, now);
        if (heldMs !== undefined) batch.queue.hasTravelled(result, heldMs, now);
        this.#counts.ended(batch, stalled.has(batch));
      }
      void this.#settle(ended);
    });
    this.#free.push(slot);
    this.#wake();
  }

  async #settle(ended: readonly EndedBatch[]): Promise<void> {
    await this.#settlement.settle(ended.filter(({ isGivenUp }) => !isGivenUp));
    for (const { batch } of ended) this.#queues.forget(batch.queue);
  }

  #requeue({ queue: { tenantId, party }, requests }: TenantBatch): void {
    if (requests.length === 0) return;
    if (this.#isClosed) {
      rejectAll(requests, unavailable(STOPPING));
      return;
    }
    this.#queues.addAgain(this.#queues.of(tenantId, party), requests);
    this.#wake();
  }
}
