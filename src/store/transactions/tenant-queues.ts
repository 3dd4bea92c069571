import type { Party } from "../../base/caller-turns.js";
import type { TenantId } from "../../base/ids.js";
import { type QueuedRequest, TenantQueue } from "./tenant-queue.js";

/** The requests of all tenants that wait for transactions, in the order of the tenants' turns. */
export class TenantQueues {
  /** By tenant and party. */
  readonly #queues = new Map<string, TenantQueue>();
  readonly #turns = new Set<TenantQueue>();
  /** Requests that wait, of all tenants. */
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
   * Gives each queue one turn, while there is any use in it.
   * @param give takes requests from the queue, if it may have a transaction.
   */
  round(isFull: () => boolean, give: (queue: TenantQueue) => void): void {
    const later: TenantQueue[] = [];
    for (const queue of this.#turns) {
      if (isFull()) break;
      this.#turns.delete(queue);
      const before = queue.waiting.length;
      give(queue);
      this.waiting -= before - queue.waiting.length;
      if (queue.waiting.length > 0) later.push(queue);
    }
    for (const queue of later) this.#turns.add(queue);
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

  /** Takes all requests. */
  takeAll(): QueuedRequest[] {
    this.waiting = 0;
    return [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
  }

  /** Forgets a queue that is not in use, and about which nothing needs to be known. */
  forget(queue: TenantQueue): void {
    if (queue.transactions > 0 || queue.waiting.length > 0) return;
    this.#turns.delete(queue);
    const now = performance.now();
    if (queue.wasOverloaded(now) || queue.isStalled(now)) return;
    // While its last transaction was being settled, another queue may have replaced it.
    if (this.peek(queue.tenantId, queue.party) === queue) this.#queues.delete(nameOf(queue.tenantId, queue.party));
  }
}

function nameOf(tenantId: TenantId, party: Party): string {
  return `${party} ${tenantId}`;
}
