import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { toStoreError, troubleOf, unavailable } from "./database-error.js";
import { type FlightResult, fly, type Guard } from "./flight.js";
import type { Lane } from "./lane.js";
import type { Passenger, Witness, Work } from "./transaction.js";

export interface FlightLimits {
  /** Requests that share one transaction. */
  readonly batch: number;
  /** Flights of one tenant at a time: its other requests gather for the next. */
  readonly perTenant: number;
  readonly queuePerTenant: number;
  readonly queueInAll: number;
  /** Milliseconds a request waits for its flight. */
  readonly wait: number;
  /** Milliseconds after which a flight without an answer is given up, together with its connection. */
  readonly patience: number;
}

/** 100 rows in 2 flights a tenant measured best: 42.9 k rows/s where single inserts reached 13.8 k (storage study 2.2). */
export const FAST_LIMITS: FlightLimits = {
  batch: 100,
  perTenant: 2,
  queuePerTenant: 1_000,
  queueInAll: 10_000,
  wait: 2_000,
  patience: 10_000,
};

/** Lists, counts and sweeps fly alone, so that a slow one delays no other. */
export const SLOW_LIMITS: FlightLimits = {
  batch: 1,
  perTenant: 4,
  queuePerTenant: 200,
  queueInAll: 2_000,
  wait: 2_000,
  patience: 30_000,
};

/** Attempts after which a conflict or an absent database is reported to the caller. */
const ATTEMPTS = 5;

interface Waiting {
  readonly guard: Guard;
  readonly work: Work<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
  attempts: number;
  /** It failed in company: it flies alone now, so that a bad request fails only its caller. */
  alone: boolean;
}

class TenantQueue {
  readonly tenantId: TenantId;
  readonly waiting: Waiting[] = [];
  inFlight = 0;

  constructor(tenantId: TenantId) {
    this.tenantId = tenantId;
  }
}

/** Was a commit that nobody acknowledged carried out? Asked on a new connection. */
export type CommitLookup = (tenantId: TenantId, witness: Witness) => Promise<boolean>;

/**
 * Requests of one tenant share transactions; tenants take turns. Nothing waits for a timer: what arrives while a flight
 * is under way shares the next one.
 */
export class Flights {
  readonly #free: Lane[];
  readonly #lanes: readonly Lane[];
  readonly #limits: FlightLimits;
  readonly #clock: Clock;
  readonly #wasCommitted: CommitLookup;
  readonly #queues = new Map<TenantId, TenantQueue>();
  /** Tenants in the order of their turns. */
  readonly #turns = new Set<TenantQueue>();
  #queued = 0;
  #scheduled = false;
  /** Looks for requests that waited too long, for as long as any waits: a stuck database wakes nobody. */
  #watch: NodeJS.Timeout | undefined;

  constructor(lanes: readonly Lane[], limits: FlightLimits, clock: Clock, wasCommitted: CommitLookup) {
    this.#lanes = lanes;
    this.#free = [...lanes];
    this.#limits = limits;
    this.#clock = clock;
    this.#wasCommitted = wasCommitted;
  }

  /** Requests that wait for a flight now. */
  get queued(): number {
    return this.#queued;
  }

  /**
   * Runs work in a transaction, shared with other requests of the tenant.
   * @throws {StaleAuthorization} when the tenant's rights changed since `guard`.
   * @throws {UniqueViolation} when an insert met a taken key.
   * @throws {Fault} unavailable when the queue is full or the database stays away.
   */
  run<T>(tenantId: TenantId, guard: Guard, work: Work<T>): Promise<T> {
    const queue = this.#queueOf(tenantId);
    if (queue.waiting.length >= this.#limits.queuePerTenant || this.#queued >= this.#limits.queueInAll) {
      return Promise.reject(unavailable("the queue for the database is full"));
    }
    return new Promise<T>((resolve, reject) => {
      // The value that resolves is the one this same work returned.
      let value: { readonly of: T } | undefined;
      const kept: Work<void> = async (tx) => {
        value = { of: await work(tx) };
      };
      const waiting: Waiting = {
        guard,
        work: kept,
        resolve: () => (value ? resolve(value.of) : reject(new Error("work ended without a value"))),
        reject,
        since: performance.now(),
        attempts: 0,
        alone: false,
      };
      this.#queued += 1;
      queue.waiting.push(waiting);
      this.#enlist(queue);
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    await Promise.all(this.#lanes.map((lane) => lane.close()));
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

  /** By the end of this turn of the event loop every request that arrived in it has joined. */
  #wake(): void {
    this.#watch ??= setInterval(() => this.#expireAll(), 250).unref();
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    const later: TenantQueue[] = [];
    for (const queue of this.#turns) {
      if (this.#free.length === 0) break;
      this.#turns.delete(queue);
      const batch = queue.inFlight < this.#limits.perTenant ? this.#nextBatch(queue) : [];
      if (queue.waiting.length > 0) later.push(queue);
      const [first] = batch;
      const lane = first && this.#free.pop();
      if (lane) void this.#launch(lane, queue, batch, first.guard);
    }
    for (const queue of later) this.#turns.add(queue);
  }

  #expireAll(): void {
    const tooOld = performance.now() - this.#limits.wait;
    for (const queue of this.#queues.values()) {
      while (queue.waiting[0] && queue.waiting[0].attempts === 0 && queue.waiting[0].since < tooOld) {
        this.#queued -= 1;
        queue.waiting.shift()?.reject(unavailable("waited too long for the database"));
      }
      this.#forget(queue);
    }
    if (this.#queued === 0) {
      clearInterval(this.#watch);
      this.#watch = undefined;
    }
  }

  /** The longest run of requests that may share a transaction: equal guards, none that must fly alone. */
  #nextBatch(queue: TenantQueue): Waiting[] {
    const [first] = queue.waiting;
    if (!first) return [];
    let size = 1;
    if (!first.alone) {
      while (size < this.#limits.batch) {
        const next = queue.waiting[size];
        if (!next || next.alone || next.guard !== first.guard) break;
        size += 1;
      }
    }
    this.#queued -= size;
    return queue.waiting.splice(0, size);
  }

  #forget(queue: TenantQueue): void {
    if (queue.inFlight > 0 || queue.waiting.length > 0) return;
    this.#queues.delete(queue.tenantId);
    this.#turns.delete(queue);
  }

  async #launch(lane: Lane, queue: TenantQueue, batch: Waiting[], guard: Guard): Promise<void> {
    queue.inFlight += 1;
    const patience = setTimeout(() => lane.renew(), this.#limits.patience);
    const works = batch.map(({ work }) => work);
    const result = await fly(lane.sql, queue.tenantId, guard, new Date(this.#clock.now()), works).catch(
      (error: unknown): FlightResult => ({ kind: "aborted", error }),
    );
    clearTimeout(patience);
    if (result.kind === "unknown" || (result.kind === "aborted" && troubleOf(result.error) === "connection"))
      lane.renew();
    this.#free.push(lane);
    queue.inFlight -= 1;
    this.#wake();
    await this.#settle(queue.tenantId, batch, result);
    this.#forget(queue);
  }

  async #settle(tenantId: TenantId, batch: Waiting[], result: FlightResult): Promise<void> {
    if (result.kind === "landed") return land(batch, result.passengers);
    if (result.kind === "unknown") {
      const committed = await this.#lookUp(tenantId, result.witness);
      if (committed === "unreachable") return rejectAll(batch, unavailable("a commit stayed unknown"));
      if (committed) return land(batch, result.passengers);
      return this.#again(tenantId, batch, unavailable("the database went away during a commit"));
    }
    if (result.culprit !== undefined) {
      const [culprit] = batch.splice(result.culprit, 1);
      culprit?.reject(result.error);
      this.#requeue(tenantId, batch);
      return;
    }
    switch (troubleOf(result.error)) {
      case "stale_authorization":
        return rejectAll(batch, toStoreError(result.error));
      case "serialization":
        return this.#again(tenantId, batch, unavailable("transactions kept conflicting"));
      case "connection":
        return this.#again(tenantId, batch, unavailable("the database is away"));
      default:
    }
    if (batch.length === 1) return rejectAll(batch, toStoreError(result.error));
    for (const waiting of batch) waiting.alone = true;
    this.#requeue(tenantId, batch);
  }

  /** Runs the same requests again, a little later each time. */
  async #again(tenantId: TenantId, batch: Waiting[], giveUp: Error): Promise<void> {
    const [hopeful, given] = [
      batch.filter((w) => ++w.attempts < ATTEMPTS),
      batch.filter((w) => w.attempts >= ATTEMPTS),
    ];
    rejectAll(given, giveUp);
    const attempt = hopeful[0]?.attempts ?? 1;
    await pause(25 * 2 ** attempt * (0.5 + Math.random()));
    this.#requeue(tenantId, hopeful);
  }

  #requeue(tenantId: TenantId, batch: Waiting[]): void {
    if (batch.length === 0) return;
    const queue = this.#queueOf(tenantId);
    this.#queued += batch.length;
    queue.waiting.unshift(...batch);
    this.#enlist(queue);
  }

  async #lookUp(tenantId: TenantId, witness: Witness): Promise<boolean | "unreachable"> {
    for (const delay of [0, 1_000, 3_000]) {
      await pause(delay);
      try {
        return await this.#wasCommitted(tenantId, witness);
      } catch {
        // The next try decides.
      }
    }
    return "unreachable";
  }
}

function land(batch: readonly Waiting[], passengers: readonly Passenger[]): void {
  for (const [index, waiting] of batch.entries()) {
    const outcome = passengers[index]?.outcome;
    if (outcome?.ok) waiting.resolve(undefined);
    else waiting.reject(outcome?.error);
  }
}

function rejectAll(batch: readonly Waiting[], error: Error): void {
  for (const waiting of batch) waiting.reject(error);
}
