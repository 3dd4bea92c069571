import type { RateLimits, RateVerdict } from "../rate-limits/rate-limits.js";
import type { RateScope } from "../rate-limits/rate-scope.js";
import type { CountRequest, ToProcess } from "./messages.js";

interface Waiting {
  readonly counted: CountRequest;
  readonly resolve: (verdict: RateVerdict) => void;
}

/**
 * Counters that the primary process keeps for all. One message counts the requests of one turn of the event loop. The
 * wait for a response has no time limit: when the primary ends, so does this process.
 */
export class PrimaryCounters implements RateLimits {
  readonly #send: (batch: number, counts: readonly CountRequest[]) => void;
  readonly #sent = new Map<number, readonly Waiting[]>();
  #next: Waiting[] = [];
  #batches = 0;

  constructor(send: (batch: number, counts: readonly CountRequest[]) => void) {
    this.#send = send;
  }

  count(client: string, scope: RateScope | undefined): Promise<RateVerdict> {
    return new Promise((resolve) => {
      if (this.#next.length === 0) setImmediate(() => this.#flush());
      this.#next.push({ counted: [client, scope ?? null], resolve });
    });
  }

  take({ batch, verdicts }: Extract<ToProcess, { type: "verdicts" }>): void {
    const waiting = this.#sent.get(batch) ?? [];
    this.#sent.delete(batch);
    for (const [index, verdict] of verdicts.entries()) waiting[index]?.resolve(verdict);
  }

  #flush(): void {
    this.#batches += 1;
    this.#sent.set(this.#batches, this.#next);
    this.#send(
      this.#batches,
      this.#next.map(({ counted }) => counted),
    );
    this.#next = [];
  }
}
