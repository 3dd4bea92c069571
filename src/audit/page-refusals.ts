import { MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { RefusalMinute } from "./refusal-caps.js";

interface Times {
  now(): number;
  after(milliseconds: number, run: () => void): void;
}

const TIMES: Times = {
  now: () => Date.now(),
  after: (milliseconds, run) => void setTimeout(run, milliseconds).unref(),
};

/**
 * Bounds the log rows of denied requests with keys that are in web pages: anybody could fill a tenant's log. Caps and
 * summary are those of keys that are not valid.
 */
export class PageRefusals {
  readonly #times: Times;
  readonly #minutes = new Map<TenantId, RefusalMinute>();

  constructor(times = TIMES) {
    this.#times = times;
  }

  /**
   * Counts a refusal.
   * @param summarize writes a row about those without one, at the end of the minute. If it fails, or the process ends
   * before, their number is lost.
   * @returns whether it gets a row of its own.
   */
  count(tenantId: TenantId, address: string | undefined, summarize: (summary: string) => Promise<unknown>): boolean {
    const now = this.#times.now();
    const minute = this.#minutes.get(tenantId) ?? new RefusalMinute(now);
    if (!this.#minutes.has(tenantId)) {
      this.#minutes.set(tenantId, minute);
      this.#times.after(MINUTE_MS - (now % MINUTE_MS), () => {
        this.#minutes.delete(tenantId);
        const { summary } = minute;
        if (summary !== undefined) void summarize(summary).catch(() => {});
      });
    }
    return minute.count(address, now);
  }
}
