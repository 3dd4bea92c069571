interface Waiting<T> {
  readonly item: T;
  readonly order: number;
}

/** A caller's share of something that callers take turns with. */
interface Flow<T> {
  readonly name: string;
  /** By their order, and of arrival where that is equal. */
  readonly items: Waiting<T>[];
  /** What it has used, in the queue's own time: see {@link FairQueue}. */
  used: number;
}

export interface Taken<T> {
  readonly flow: string;
  readonly item: T;
}

/** Flows without items that are remembered, beyond as many as have some: addresses are as many as a caller likes. */
const MAX_IDLE = 1_000;

/**
 * Lets flows take turns by what they have used: the one that has used least comes next. The cost of an item is known
 * only afterwards. The queue's time is what the flow that was served last had used, so a flow that was idle continues
 * from there, and not from what it has used since the start (start-time fair queueing; Goyal, Vin and Cheng, SIGCOMM
 * 1996). It may be behind by `credit`: a flow that uses less than its share comes before all that use theirs, at each
 * of its steps, however many these are.
 */
export class FairQueue<T> {
  readonly #credit: number;
  readonly #flows = new Map<string, Flow<T>>();
  /** Flows with items, in the order of what they have used, and of arrival where that is equal. */
  readonly #waiting: Flow<T>[] = [];
  #time = 0;
  #size = 0;

  /** @param credit the cost by which a flow that was idle is ahead of the others. */
  constructor(credit: number) {
    this.#credit = credit;
  }

  get size(): number {
    return this.#size;
  }

  get flows(): number {
    return this.#waiting.length;
  }

  /** Flows that it remembers, with and without items. */
  get known(): number {
    return this.#flows.size;
  }

  waitingOf(flow: string): number {
    return this.#flows.get(flow)?.items.length ?? 0;
  }

  /** @param order among the items of this flow: those with a smaller one come before. */
  push(name: string, item: T, order = Number.POSITIVE_INFINITY): void {
    const flow = this.#flowOf(name);
    insertBy(flow.items, { item, order }, (waiting) => waiting.order);
    this.#size += 1;
    if (flow.items.length > 1) return;
    flow.used = Math.max(flow.used, this.#time - this.#credit);
    this.#enlist(flow);
  }

  /** Takes the next item. Undefined only if none waits. */
  take(): Taken<T> | undefined {
    const [flow] = this.#waiting;
    const waiting = flow?.items.shift();
    if (!flow || !waiting) return undefined;
    this.#size -= 1;
    this.#time = Math.max(this.#time, flow.used);
    if (flow.items.length === 0) this.#waiting.shift();
    return { flow: flow.name, item: waiting.item };
  }

  charge(name: string, cost: number): void {
    const flow = this.#flows.get(name);
    if (!flow) return;
    const waits = flow.items.length > 0;
    if (waits) this.#waiting.splice(this.#waiting.indexOf(flow), 1);
    flow.used += cost;
    if (waits) this.#enlist(flow);
  }

  #flowOf(name: string): Flow<T> {
    let flow = this.#flows.get(name);
    if (!flow) {
      if (this.#flows.size > 2 * this.#waiting.length + MAX_IDLE) this.#forgetIdle();
      flow = { name, items: [], used: this.#time - this.#credit };
      this.#flows.set(name, flow);
    }
    return flow;
  }

  #enlist(flow: Flow<T>): void {
    insertBy(this.#waiting, flow, ({ used }) => used);
  }

  /** They gain at most the credit of a new flow. */
  #forgetIdle(): void {
    for (const { name, items } of this.#flows.values()) {
      if (items.length === 0) this.#flows.delete(name);
    }
  }
}

/** Inserts an item into a list sorted by a key, after those of the same key. */
function insertBy<T>(sorted: T[], item: T, keyOf: (item: T) => number): void {
  const key = keyOf(item);
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = sorted[middle];
    if (other !== undefined && keyOf(other) <= key) from = middle + 1;
    else to = middle;
  }
  sorted.splice(from, 0, item);
}
