import { LRUCache } from "lru-cache";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { SealParts } from "./seal-log.js";
import { type SetBackOutcome, setBackLog } from "./set-back-log.js";

/** Tenants whose logs are set back at the same time. */
const AT_ONCE = 4;
/** A log that could not be set back is looked at again after so long: each request of its tenant asks for it. */
const REST_MS = 2_000;
const BEHIND_TOLD_EVERY_MS = 60_000;

export interface LogClockParts extends SealParts {
  readonly clock: Clock;
  readonly onSetBack: (tenantId: TenantId, outcome: SetBackOutcome & { readonly kind: "set back" }) => void;
  /** The chain of the tenant has no head, so that its log cannot be set back. */
  readonly onRefused: (tenantId: TenantId) => void;
  /** This server's clock is behind the database's, by so many milliseconds: it cannot write what others have closed. */
  readonly onBehind: (milliseconds: number) => void;
  readonly onFailure: (tenantId: TenantId) => void;
}

/**
 * Looks after logs that are closed beyond this server's clock. Where the clocks ran fast and were set right, the log is set
 * back, and requests that wait for that go on; where this server alone is slow, that is told.
 */
export class LogClock {
  readonly #parts: LogClockParts;
  readonly #waiting = new Set<TenantId>();
  readonly #running = new Map<TenantId, Promise<void>>();
  readonly #resting = new LRUCache<TenantId, true>({ max: 10_000, ttl: REST_MS });
  #isStopped = false;
  #toldBehindAt = Number.NEGATIVE_INFINITY;

  constructor(parts: LogClockParts) {
    this.#parts = parts;
  }

  /** A transaction of the tenant found its minute closed. */
  noticed(tenantId: TenantId): void {
    if (this.#isStopped || this.#running.has(tenantId) || this.#resting.has(tenantId)) return;
    this.#waiting.add(tenantId);
    this.#startNext();
  }

  /** Begins nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#waiting.clear();
    await Promise.all(this.#running.values());
  }

  #startNext(): void {
    for (const tenantId of this.#waiting) {
      if (this.#running.size >= AT_ONCE) return;
      this.#waiting.delete(tenantId);
      const work = this.#look(tenantId).finally(() => {
        this.#running.delete(tenantId);
        this.#startNext();
      });
      this.#running.set(tenantId, work);
    }
  }

  async #look(tenantId: TenantId): Promise<void> {
    const { clock, onSetBack, onRefused, onBehind, onFailure } = this.#parts;
    try {
      const outcome = await setBackLog(this.#parts, tenantId);
      if (outcome.kind === "set back") return onSetBack(tenantId, outcome);
      this.#resting.set(tenantId, true);
      if (outcome.kind === "refused") onRefused(tenantId);
      if (outcome.kind !== "not ahead" || !outcome.now || !outcome.closedUntil) return;
      // A transaction that took its time just before its minute was closed meets that too.
      const isBehind = clock.now() < outcome.closedUntil.getTime();
      if (!isBehind || performance.now() - this.#toldBehindAt < BEHIND_TOLD_EVERY_MS) return;
      this.#toldBehindAt = performance.now();
      onBehind(outcome.now.getTime() - clock.now());
    } catch {
      this.#resting.set(tenantId, true);
      onFailure(tenantId);
    }
  }
}
