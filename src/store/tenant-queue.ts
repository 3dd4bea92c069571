import type { TenantId } from "../base/ids.js";
import { Crowding } from "./crowding.js";
import type { Guard } from "./flight.js";
import type { Passenger, Work } from "./transaction.js";

/** A request that waits for a flight. */
export interface Waiting {
  readonly guard: Guard;
  readonly work: Work<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
  attempts: number;
  /** It failed in company: it flies alone now, so that a bad request fails only its caller. */
  alone: boolean;
}

/** The requests of one tenant, in the order in which they came. */
export class TenantQueue {
  readonly tenantId: TenantId;
  readonly waiting: Waiting[] = [];
  /** Flights, and the requests aboard them. */
  inFlight = 0;
  aboard = 0;
  readonly #crowding = new Crowding();

  constructor(tenantId: TenantId) {
    this.tenantId = tenantId;
  }

  /** Whether a request more would be one too many. */
  isCrowded(now: number): boolean {
    return this.#crowding.isTooMany(this.waiting.length + this.aboard, now);
  }

  /**
   * Whether those who wait are enough for a flight beside another one, or have waited since `before`: small flights beside
   * large ones took a fifth of all creates that could be served.
   */
  isWorthAFlight(before: number): boolean {
    const [first] = this.waiting;
    return first === undefined || first.since <= before || this.waiting.length * 2 >= this.aboard;
  }

  /** Takes the longest run of requests that may share a transaction: equal guards, none that must fly alone. */
  nextBatch(most: number): Waiting[] {
    const [first] = this.waiting;
    if (!first) return [];
    let size = 1;
    if (!first.alone) {
      while (size < most) {
        const next = this.waiting[size];
        if (!next || next.alone || next.guard !== first.guard) break;
        size += 1;
      }
    }
    return this.waiting.splice(0, size);
  }
}

/** Tells each request of a flight that landed what came of it. */
export function land(batch: readonly Waiting[], passengers: readonly Passenger[]): void {
  for (const [index, waiting] of batch.entries()) {
    const outcome = passengers[index]?.outcome;
    if (outcome?.ok) waiting.resolve(undefined);
    else waiting.reject(outcome?.error);
  }
}

export function rejectAll(batch: readonly Waiting[], error: Error): void {
  for (const waiting of batch) waiting.reject(error);
}
