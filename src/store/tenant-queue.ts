import type { TenantId } from "../base/ids.js";
import type { BatchedRequest } from "./batched-request.js";
import { Crowding } from "./crowding.js";
import type { Guard } from "./shared-transaction.js";
import type { OrdinaryTransaction, Work } from "./transaction.js";

/** A request that waits for a transaction. */
export interface Waiting {
  readonly guard: Guard;
  readonly work: Work<unknown, OrdinaryTransaction>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
  attempts: number;
  /** It failed beside others: it runs alone now, so that a bad request fails only its caller. */
  alone: boolean;
}

/** A request that has just come. */
export function waitingFor<T>(
  work: Work<T, OrdinaryTransaction>,
  guard: Guard,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): Waiting {
  // The value that resolves is the one this same work returned.
  let value: { readonly of: T } | undefined;
  return {
    guard,
    work: async (tx) => {
      value = { of: await work(tx) };
    },
    resolve: () => (value ? resolve(value.of) : reject(new Error("work ended without a value"))),
    reject,
    since: performance.now(),
    attempts: 0,
    alone: false,
  };
}

/** The requests of one tenant, in the order in which they came. */
export class TenantQueue {
  readonly tenantId: TenantId;
  readonly waiting: Waiting[] = [];
  /** Transactions that are under way, and the requests in them. */
  transactions = 0;
  inFlight = 0;
  readonly #crowding = new Crowding();

  constructor(tenantId: TenantId) {
    this.tenantId = tenantId;
  }

  /** Whether a request more would be one too many. */
  isCrowded(now: number): boolean {
    return this.#crowding.isTooMany(this.waiting.length + this.inFlight, now);
  }

  /** Whether a request was one too many so lately that the next burst is not waited for. */
  wasCrowded(now: number): boolean {
    return this.#crowding.isRemembered(now);
  }

  /**
   * Takes the requests that came before a time and have not run yet. They may be queued behind others that have, and whose
   * transaction was given up meanwhile.
   */
  takeLate(before: number): Waiting[] {
    const isLate = ({ attempts, since }: Waiting) => attempts === 0 && since < before;
    const late = this.waiting.filter(isLate);
    if (late.length > 0) this.waiting.splice(0, this.waiting.length, ...this.waiting.filter((one) => !isLate(one)));
    return late;
  }

  /**
   * Whether enough requests wait for a transaction beside another one, or have waited since `before`: small transactions beside
   * large ones took a fifth of all creates that could be served.
   */
  isWorthATransaction(before: number): boolean {
    const [first] = this.waiting;
    return first === undefined || first.since <= before || this.waiting.length * 2 >= this.inFlight;
  }

  /**
   * Takes the first request, and with it those that may share its transaction: of an equal guard, none that must run alone.
   * They need not be next to each other: a caller that mixes in unknown keys, which are looked up without a guard, could
   * otherwise have each request of the tenant run by itself.
   */
  nextBatch(most: number): Waiting[] {
    const [first] = this.waiting;
    if (!first || first.alone) return this.waiting.splice(0, 1);
    const batch: Waiting[] = [];
    const left: Waiting[] = [];
    for (const next of this.waiting) {
      const joins = batch.length < most && !next.alone && next.guard === first.guard;
      (joins ? batch : left).push(next);
    }
    this.waiting.splice(0, this.waiting.length, ...left);
    return batch;
  }
}

/** A request of a transaction that was committed, whose work has not ended. */
export interface Unsettled {
  readonly waiting: Waiting;
  readonly request: BatchedRequest;
}

/** Tells each request of a transaction that was committed what came of it. @returns those whose work has not ended. */
export function settle(batch: readonly Waiting[], requests: readonly BatchedRequest[]): Unsettled[] {
  const left: Unsettled[] = [];
  for (const [index, waiting] of batch.entries()) {
    const request = requests[index];
    if (request?.outcome) settleOne(waiting, request.outcome);
    else if (request) left.push({ waiting, request });
  }
  return left;
}

export function settleOne(waiting: Waiting, outcome: NonNullable<BatchedRequest["outcome"]>): void {
  if (outcome.ok) waiting.resolve(undefined);
  else waiting.reject(outcome.error);
}

export function rejectAll(batch: readonly Waiting[], error: Error): void {
  for (const waiting of batch) waiting.reject(error);
}
