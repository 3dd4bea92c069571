import type { ErrorCode, Failure } from "./errors.js";

/**
 * What running a method twice would do: nothing (`read`), nothing more (`delete`), nothing more under the same idempotency
 * key (`keyed`), or its effect again (`once`).
 */
export type Effect = "read" | "delete" | "keyed" | "once";

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 8_000;
/** The client fails rather than wait longer. */
const MAX_RETRY_AFTER_S = 60;
/**
 * The retry throttling of gRPC (proposal A6): while the server fails, ten retries and then one for each ten calls that
 * succeed. What the server asks to be sent again later costs nothing: it says when it has room.
 */
const BUDGET = 10;
const BUDGET_PER_SUCCESS = 0.1;

/**
 * Failures that may pass. The code of gRPC does not tell: `aborted` is `conflict` and `idempotency_in_flight`, and a lost
 * connection has none.
 */
const PASSING: readonly ErrorCode[] = [
  "connection_failed",
  "unavailable",
  "rate_limited",
  "idempotency_in_flight",
  "internal",
];

/** Decides whether and when a call is sent again. One for each client. */
export class Retries {
  #budget = BUDGET;

  succeeded(): void {
    this.#budget = Math.min(BUDGET, this.#budget + BUDGET_PER_SUCCESS);
  }

  /**
   * How long to wait before the call is sent again; undefined where it must not be, `spent` where it could be and the
   * client has no budget for it.
   * @param attempt the number of the attempt that failed, from 1.
   */
  waitAfter(failure: Failure, effect: Effect, attempt: number): number | "spent" | undefined {
    if (failure.isFinal || !PASSING.includes(failure.code)) return undefined;
    if (effect === "once" && !failure.didNotRun) return undefined;
    const { retryAfter } = failure;
    if (retryAfter !== undefined && retryAfter > MAX_RETRY_AFTER_S) return undefined;
    // A lost connection fails all calls on it at once and says nothing of the server's load.
    const isAskedFor = failure.code === "rate_limited" && retryAfter !== undefined;
    if (failure.code !== "connection_failed" && !isAskedFor) {
      if (this.#budget < 1) return "spent";
      this.#budget -= 1;
    }
    const most = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
    return retryAfter === undefined ? Math.random() * most : retryAfter * 1_000;
  }
}
