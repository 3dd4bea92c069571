import type { UnprovenMemory } from "./unproven-memory.js";

/** An owner of reservations: a client address, a tenant, an application ... */
export interface Holder {
  /** Unique among the holders of all kinds. */
  readonly name: string;
  /**
   * The holder's limit, as a multiple of the memory that is free at the time: with 1, a single holder gets half of the
   * pool, and each of n holders 1/(n + 1). Something is always left for a newcomer (dynamic thresholds; Choudhury and
   * Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).
   */
  readonly share: number;
  /** A holder without reservations gets its first one whatever its share, while there is memory. */
  readonly mayStart: boolean;
}

/**
 * Limits of waiting reservations, of all holders and of one. Each keeps a connection, and up to 64 KB read by its
 * socket.
 */
const MAX_WAITING = 512;
const MAX_WAITING_OF_ONE = 128;

/** Longest wait of a reservation, in milliseconds. */
export const MAX_WAIT_MS = 20_000;

export interface PendingReservation {
  /** False if too many waited, the wait was too long, or it was cancelled. */
  readonly granted: Promise<boolean>;
  cancel(): void;
}

interface Waiter {
  readonly holders: readonly Holder[];
  readonly bytes: number;
  settle(isGranted: boolean): void;
}

/** A number of bytes that holders share fairly. It counts; it allocates nothing. */
export class MemoryPool {
  /** Bytes in all. */
  readonly size: number;
  #left: number;
  readonly #held = new Map<string, number>();
  /** Queues by the most specific holder. Queues take turns, and each is first come, first served. */
  readonly #lines = new Map<string, Waiter[]>();
  #waiting = 0;

  constructor(bytes: number) {
    this.size = bytes;
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  get waiting(): number {
    return this.#waiting;
  }

  tryReserve(holders: readonly Holder[], bytes: number): boolean {
    const left = this.#left - bytes;
    const isWithin = ({ name, share, mayStart }: Holder) => {
      const held = this.#held.get(name) ?? 0;
      return (mayStart && held === 0) || held + bytes <= share * left;
    };
    if (left < 0 || !holders.every(isWithin)) return false;
    this.#count(holders, bytes);
    return true;
  }

  /** Reserves as soon as the holders' shares allow it. Later reservations with the same last holder wait behind it. */
  reserve(holders: readonly Holder[], bytes: number): PendingReservation | true {
    const name = holders.at(-1)?.name ?? "";
    const line = this.#lines.get(name) ?? [];
    if (line.length === 0 && this.tryReserve(holders, bytes)) return true;
    if (this.#waiting >= MAX_WAITING || line.length >= MAX_WAITING_OF_ONE) {
      return { granted: Promise.resolve(false), cancel: () => {} };
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const settle = (isGranted: boolean) => {
      clearTimeout(timer);
      this.#leave(name, waiter);
      resolve(isGranted);
    };
    const timer = setTimeout(() => settle(false), MAX_WAIT_MS);
    const waiter = { holders, bytes, settle };
    line.push(waiter);
    this.#lines.set(name, line);
    this.#waiting += 1;
    return { granted: promise, cancel: () => settle(false) };
  }

  /** Reserves whatever the shares are: for memory that is in use already. */
  take(holders: readonly Holder[], bytes: number): void {
    this.#count(holders, bytes);
  }

  release(holders: readonly Holder[], bytes: number): void {
    this.#count(holders, -bytes);
    this.#serveWaiting();
  }

  /** Moves a reservation to other holders, when the caller's identity becomes known. */
  move(from: readonly Holder[], to: readonly Holder[], bytes: number): void {
    this.#count(from, -bytes);
    this.#count(to, bytes);
  }

  #count(holders: readonly Holder[], bytes: number): void {
    this.#left -= bytes;
    for (const { name } of holders) {
      const held = (this.#held.get(name) ?? 0) + bytes;
      if (held === 0) this.#held.delete(name);
      else this.#held.set(name, held);
    }
  }

  /** Grants what fits, one reservation per queue in turn. A served queue moves to the end. */
  #serveWaiting(): void {
    for (const [name, line] of this.#lines) {
      const [first] = line;
      if (!first || !this.tryReserve(first.holders, first.bytes)) continue;
      first.settle(true);
      if (this.#lines.delete(name)) this.#lines.set(name, line);
    }
  }

  #leave(name: string, waiter: Waiter): void {
    const line = this.#lines.get(name) ?? [];
    const index = line.indexOf(waiter);
    if (index < 0) return;
    line.splice(index, 1);
    this.#waiting -= 1;
    if (line.length === 0) this.#lines.delete(name);
  }
}

export interface MemoryPools {
  readonly small: MemoryPool;
  readonly large: MemoryPool;
  /** For small bodies of callers that have proved nothing. */
  readonly unproven: UnprovenMemory;
  /** The same for those that sign in. */
  readonly signIn: UnprovenMemory;
}
