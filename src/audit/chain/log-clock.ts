import { LRUCache } from "lru-cache";
import type { Clock } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { lruEntries } from "../../base/lru-entries.js";
import type { SealParts } from "./seal-log.js";
import { type SetBackOutcome, setBackLog } from "./set-back-log.js";

/** Number of tenants whose logs are set back at a time. */
const AT_ONCE = 4;
/** Pause in milliseconds before a failed set-back is retried: every request of the tenant asks for it. */
const REST_MS = 2_000;
const BEHIND_TOLD_EVERY_MS = 60_000;

export interface LogClockParts extends SealParts {
  readonly clock: Clock;
  readonly onSetBack: (tenantId: TenantId, outcome: SetBackOutcome & { readonly kind: "set back" }) => void;
  /** The chain of the tenant has no head, so its log cannot be set back. */
  readonly onRefused: (tenantId: TenantId) => void;
  /** This server's clock is behind the database's, by this many milliseconds: it cannot write to closed minutes. */
  readonly onBehind: (milliseconds: number) => void;
  readonly onFailure: (tenantId: TenantId) => void;
}

/**
 * Handles logs that are closed beyond this server's clock. A log is closed up to a time if no row can be written with an
 * earlier one; minutes are closed before they are sealed. If clocks ran fast and were corrected, it sets the log back,
 * and waiting requests continue; if only this server is slow, it reports that.
 */
export class LogClock {
  readonly #parts: LogClockParts;
  readonly #waiting = new Set<TenantId>();
  readonly #running = new Map<TenantId, Promise<void>>();
  readonly #resting = new LRUCache<TenantId, true>({ ...lruEntries(10_000), ttl: REST_MS });
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

  /** Starts nothing more, and waits for work in progress. */
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
      // A long transaction that started just before its minute was closed gets here too.
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
