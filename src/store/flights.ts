import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../base/clock.js";
import type { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { type CommitLookup, lookUp } from "./commit-lookup.js";
import { ConfirmedRevisions } from "./confirmed-revisions.js";
import { MOST_UNDER_WAY } from "./crowding.js";
import { toStoreError, troubleOf, unavailable } from "./database-error.js";
import { tellsOfDisk } from "./disk-probe.js";
import { type FlightResult, fly, type Guard, leavesDoubt } from "./flight.js";
import type { FlightLimits } from "./flight-limits.js";
import type { FlightLoad } from "./flight-load.js";
import type { Lane } from "./lane.js";
import { LoggedMinutes } from "./logged-minutes.js";
import { land, rejectAll, TenantQueue, type Waiting, waitingFor } from "./tenant-queue.js";
import type { Work } from "./transaction.js";

/** Attempts after which a conflict or an absent database is reported to the caller. */
const ATTEMPTS = 5;
const STOPPING = "the server is stopping";
/** Made once: an error of its own for each request would cost more than to turn it away. */
const CROWDED = unavailable("more requests come than are served");

/**
 * Requests of one tenant share transactions; tenants take turns. No first flight waits: what arrives while it is under way
 * shares the next one.
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
  readonly #logged = new LoggedMinutes();
  readonly #confirmed = new ConfirmedRevisions();
  #queued = 0;
  #aboard = 0;
  #flown = 0;
  #carried = 0;
  /** Called when a tenant's log turns out to be closed beyond this server's clock. */
  onClosedMinute: ((tenantId: TenantId) => void) | undefined;
  /** The database said so, and nobody has seen it take writes since. */
  lacksDisk = false;
  #scheduled = false;
  #isClosed = false;
  /** Looks for requests that waited too long, for as long as any waits: a stuck database wakes nobody. */
  #watch: NodeJS.Timeout | undefined;
  /** Wakes those who wait for company. */
  #company: NodeJS.Timeout | undefined;

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

  get load(): FlightLoad {
    const lanes = this.#lanes.length;
    const used = lanes - this.#free.length;
    return { lanes, used, queued: this.#queued, flown: this.#flown, carried: this.#carried };
  }

  /** When a tenant's rights were last found to be those of a revision, by `performance.now()`; -Infinity if never. */
  confirmedAt(tenantId: TenantId, revision: number): number {
    return this.#confirmed.of(tenantId, revision);
  }

  /** Whether any tenant may be sending more than is served: asked before whose request it is. */
  get isBusy(): boolean {
    return this.#queued + this.#aboard >= MOST_UNDER_WAY;
  }

  /** Why a tenant's request is turned away before anything of it is read; undefined while there is room for it. */
  refusalOf(tenantId: TenantId): Fault | undefined {
    const isCrowded = this.#queues.get(tenantId)?.isCrowded(performance.now()) ?? false;
    return isCrowded || this.#queued >= this.#limits.queueInAll ? CROWDED : undefined;
  }

  /** @throws {Fault} unavailable while a tenant sends more than is served. */
  requireRoom(tenantId: TenantId): void {
    const refusal = this.refusalOf(tenantId);
    if (refusal) throw refusal;
  }

  /**
   * Runs work in a transaction, shared with other requests of the tenant.
   * @throws {StaleAuthorization} when the tenant's rights changed since `guard`.
   * @throws {UniqueViolation} when an insert met a taken key.
   * @throws {Fault} unavailable when the queue is full or the database stays away.
   */
  run<T>(tenantId: TenantId, guard: Guard, work: Work<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(unavailable(STOPPING));
    const queue = this.#queueOf(tenantId);
    if (queue.waiting.length >= this.#limits.queuePerTenant || this.#queued >= this.#limits.queueInAll) {
      return Promise.reject(unavailable("the queue for the database is full"));
    }
    return new Promise<T>((resolve, reject) => {
      this.#queued += 1;
      queue.waiting.push(waitingFor(work, guard, resolve, reject));
      this.#enlist(queue);
    });
  }

  /** Turns away whatever waits and whatever comes, and lets what is in flight end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#watch);
    clearTimeout(this.#company);
    for (const queue of this.#queues.values()) rejectAll(queue.waiting.splice(0), unavailable(STOPPING));
    this.#queued = 0;
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
    let hasLaunched = this.#giveTurns();
    while (hasLaunched) hasLaunched = this.#giveTurns();
  }

  /** One flight for each tenant that may have another, while there are lanes. Returns whether any was launched. */
  #giveTurns(): boolean {
    const later: TenantQueue[] = [];
    let hasLaunched = false;
    const now = performance.now();
    for (const queue of this.#turns) {
      if (this.#free.length === 0) break;
      this.#turns.delete(queue);
      const batch = this.#mayDepart(queue, now) ? this.#nextBatch(queue) : [];
      if (queue.waiting.length > 0) later.push(queue);
      const [first] = batch;
      const lane = first && this.#free.pop();
      if (!lane) continue;
      hasLaunched = true;
      void this.#launch(lane, queue, batch, first.guard);
    }
    for (const queue of later) this.#turns.add(queue);
    return hasLaunched;
  }

  #mayDepart(queue: TenantQueue, now: number): boolean {
    if (queue.inFlight >= this.#limits.perTenant) return false;
    if (queue.isWorthAFlight(now - this.#limits.company)) return true;
    // Nothing else may happen before they have waited long enough.
    this.#company ??= setTimeout(() => {
      this.#company = undefined;
      this.#wake();
    }, this.#limits.company);
    return false;
  }

  #expireAll(): void {
    const tooOld = performance.now() - this.#limits.wait;
    for (const queue of this.#queues.values()) {
      const late = queue.takeLate(tooOld);
      this.#queued -= late.length;
      if (late.length > 0) rejectAll(late, unavailable("waited too long for the database"));
      this.#forget(queue);
    }
    if (this.#queues.size === 0) {
      clearInterval(this.#watch);
      this.#watch = undefined;
    }
  }

  #nextBatch(queue: TenantQueue): Waiting[] {
    const batch = queue.nextBatch(this.#limits.batch);
    this.#queued -= batch.length;
    return batch;
  }

  #forget(queue: TenantQueue): void {
    if (queue.inFlight > 0 || queue.waiting.length > 0) return;
    this.#turns.delete(queue);
    if (queue.wasCrowded(performance.now())) return;
    // While its last flight was being settled, another queue may have taken its place.
    if (this.#queues.get(queue.tenantId) === queue) this.#queues.delete(queue.tenantId);
  }

  async #launch(lane: Lane, queue: TenantQueue, batch: Waiting[], guard: Guard): Promise<void> {
    queue.inFlight += 1;
    queue.aboard += batch.length;
    this.#aboard += batch.length;
    this.#flown += 1;
    this.#carried += batch.length;
    const patience = setTimeout(() => lane.renew(), this.#limits.patience);
    const works = batch.map(({ work }) => work);
    const departedAt = performance.now();
    const now = new Date(this.#clock.now());
    const departure = { now, isFirstInMinute: !this.#logged.has(queue.tenantId, now) };
    const result = await fly(lane, queue.tenantId, guard, departure, works).catch(
      (error: unknown): FlightResult => ({ kind: "aborted", error }),
    );
    if (result.kind === "landed" && guard !== "unguarded") this.#confirmed.add(queue.tenantId, guard, departedAt);
    if (result.kind === "landed" && result.passengers.some(({ outcome, seen }) => outcome?.ok && seen)) {
      this.#logged.add(queue.tenantId, now);
    }
    clearTimeout(patience);
    if (leavesDoubt(result)) lane.renew();
    this.#free.push(lane);
    queue.inFlight -= 1;
    queue.aboard -= batch.length;
    this.#aboard -= batch.length;
    this.#wake();
    await this.#settle(queue.tenantId, batch, result);
    this.#forget(queue);
  }

  async #settle(tenantId: TenantId, batch: Waiting[], result: FlightResult): Promise<void> {
    if (result.kind === "landed") return land(batch, result.passengers);
    if (result.kind === "unknown") {
      const committed = await lookUp(this.#wasCommitted, this.#limits.looks, { ...result, tenantId });
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
    if (tellsOfDisk(result.error)) this.lacksDisk = true;
    switch (troubleOf(result.error)) {
      case "stale_authorization":
        return rejectAll(batch, toStoreError(result.error));
      case "serialization":
        return this.#again(tenantId, batch, unavailable("transactions kept conflicting"));
      case "connection":
        return this.#again(tenantId, batch, unavailable("the database is away"));
      case "closed_minute":
        this.onClosedMinute?.(tenantId);
        return this.#again(tenantId, batch, unavailable("the tenant's log is closed beyond this server's clock"));
      default:
    }
    if (batch.length === 1) return rejectAll(batch, toStoreError(result.error));
    for (const waiting of batch) waiting.alone = true;
    this.#requeue(tenantId, batch);
  }

  /** Runs the same requests again, a little later each time, unless two flights could have been given up meanwhile. */
  async #again(tenantId: TenantId, batch: Waiting[], giveUp: Error): Promise<void> {
    const tooOld = performance.now() - 2 * this.#limits.patience;
    for (const waiting of batch) waiting.attempts += 1;
    const hopeful = batch.filter(({ attempts, since }) => attempts < ATTEMPTS && since > tooOld);
    rejectAll(
      batch.filter((waiting) => !hopeful.includes(waiting)),
      giveUp,
    );
    const attempt = hopeful[0]?.attempts ?? 1;
    await pause(25 * 2 ** attempt * (0.5 + Math.random()));
    this.#requeue(tenantId, hopeful);
  }

  #requeue(tenantId: TenantId, batch: Waiting[]): void {
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
