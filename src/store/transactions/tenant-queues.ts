import type { Party } from "../../base/caller-turns.js";
import type { TenantId } from "../../base/ids.js";
import { type QueuedRequest, type TenantBatch, TenantQueue } from "./tenant-queue.js";

/** The requests of all tenants that wait for transactions, in the order of the tenants' turns. */
export class TenantQueues {
  /** By tenant and party. */
  readonly #queues = new Map<string, TenantQueue>();
  readonly #turns = new Set<TenantQueue>();
  waiting = 0;

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  peek(tenantId: TenantId, party: Party): TenantQueue | undefined {
    return this.#queues.get(nameOf(tenantId, party));
  }

  of(tenantId: TenantId, party: Party): TenantQueue {
    let queue = this.peek(tenantId, party);
    if (!queue) {
      queue = new TenantQueue(tenantId, party);
      this.#queues.set(nameOf(tenantId, party), queue);
    }
    return queue;
  }

  /** Adds a request that has just arrived. */
  add(queue: TenantQueue, request: QueuedRequest): void {
    this.waiting += 1;
    queue.add(request);
    this.#turns.add(queue);
  }

  /** Puts requests that run again before all others of their queue. */
  addAgain(queue: TenantQueue, batch: readonly QueuedRequest[]): void {
    this.waiting += batch.length;
    queue.waiting.unshift(...batch);
    this.#turns.add(queue);
  }

  /**
   * Looks at each queue, while there is any use in it. A queue that was served comes after all others.
   * @param give takes requests from the queue, if it may have a transaction.
   */
  round(isFull: () => boolean, give: (queue: TenantQueue) => void): void {
    const served: TenantQueue[] = [];
    for (const queue of this.#turns) {
      if (isFull()) break;
      const before = queue.waiting.length;
      give(queue);
      const left = queue.waiting.length;
      this.waiting -= before - left;
      if (left === before && left > 0) continue;
      this.#turns.delete(queue);
      if (left > 0) served.push(queue);
    }
    for (const queue of served) this.#turns.add(queue);
  }

  /** Takes the next batch of a queue, which then comes after all others. */
  take(queue: TenantQueue, most: number): TenantBatch | undefined {
    const batch = queue.nextBatch(most);
    this.waiting -= batch?.requests.length ?? 0;
    this.#turns.delete(queue);
    if (queue.waiting.length > 0) this.#turns.add(queue);
    return batch;
  }

  /** Takes the requests that have waited too long, and forgets queues without any. See {@link TenantQueue.takeLate}. */
  takeLate(newBefore: number, retriedBefore: number): QueuedRequest[] {
    return [...this.#queues.values()].flatMap((queue) => {
      const late = queue.takeLate(newBefore, retriedBefore);
      this.waiting -= late.length;
      this.forget(queue);
      return late;
    });
  }

  takeAll(): QueuedRequest[] {
    this.waiting = 0;
    return [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
  }

  /** Forgets a queue that is not in use, and about which nothing needs to be known. */
  forget(queue: TenantQueue): void {
    if (queue.transactions > 0 || queue.waiting.length > 0) return;
    this.#turns.delete(queue);
    const now = performance.now();
    if (queue.wasOverloaded(now) || queue.isStalled(now) || queue.staysApart(now)) return;
    // While its last transaction was being settled, another queue may have replaced it.
    if (this.peek(queue.tenantId, queue.party) === queue) this.#queues.delete(nameOf(queue.tenantId, queue.party));
  }
}

function nameOf(tenantId: TenantId, party: Party): string {
  return `${party} ${tenantId}`;
}
