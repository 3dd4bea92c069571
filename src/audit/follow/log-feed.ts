import { Fault } from "../../base/fault.js";
import type { TenantId } from "../../base/ids.js";
import type { ListPosition } from "../../crypto/cursor.js";
import type { LogRow } from "../../store/audit/log-listing.js";
import type { OrdinaryTransaction, Work } from "../../store/transactions/transaction.js";
import { endOfLog, LogFollower } from "./log-follower.js";

/** Milliseconds between two polls of a tenant's log. */
const POLL_INTERVAL_MS = 1_000;
/** Timers of several readers fire at about the same time: the first one polls for all. */
const STILL_FRESH_MS = 900;
const BATCH = 500;
/** Rows that wait for a slow reader, of about 1 KB each. A reader that is further behind reads the log by itself. */
const MAX_WAITING = 2_000;

/** A follower of the log, as far as a feed needs it: its rights at `revision`, under which it reads. */
export interface FeedCaller {
  readonly revision: number;
  /** Its key or sign-in has ended, which changes no revision: a read reads its rights again. */
  readonly hasEnded: boolean;
  read<T>(work: Work<T, OrdinaryTransaction>): Promise<T>;
}

/** What a reader takes: the rows since it took the last ones, and the position after them. */
export interface FeedBatch {
  readonly rows: readonly LogRow[];
  readonly position: ListPosition;
}

export class LogFeeds {
  readonly #feeds = new Map<TenantId, LogFeed>();

  /** Joins the tenant's feed, which lives until its last reader leaves. */
  join(tenantId: TenantId): FeedReader {
    const feed = this.#feeds.get(tenantId) ?? new LogFeed();
    this.#feeds.set(tenantId, feed);
    const reader = new FeedReader(feed, () => {
      feed.remove(reader);
      if (feed.isUnread && this.#feeds.get(tenantId) === feed) this.#feeds.delete(tenantId);
    });
    feed.add(reader);
    return reader;
  }
}

/**
 * One reader of a tenant's log for all followers at its end. A follower reads the database for all, under its own rights;
 * the others learn at which revision of the tenant's rights it did.
 */
class LogFeed {
  readonly #readers = new Set<FeedReader>();
  #start: Date | undefined;
  #follower: LogFollower | undefined;
  /** The rows that some reader has not taken yet, and the number of the first. */
  #rows: LogRow[] = [];
  #first = 0;
  #polling: Promise<void> | undefined;
  #polledAt = Number.NEGATIVE_INFINITY;
  #hasMore = false;
  #revision: number | undefined;

  /** When it began. Undefined before the first poll. */
  get start(): Date | undefined {
    return this.#start;
  }

  get revision(): number | undefined {
    return this.#revision;
  }

  get end(): number {
    return this.#first + this.#rows.length;
  }

  get isUnread(): boolean {
    return this.#readers.size === 0;
  }

  add(reader: FeedReader): void {
    this.#readers.add(reader);
  }

  remove(reader: FeedReader): void {
    this.#readers.delete(reader);
    this.#dropTaken();
  }

  /** Polls the log, unless another reader does so now or did in the last second. @throws errors of its own poll. */
  async poll(caller: FeedCaller): Promise<void> {
    if (this.#polling) return this.#polling.catch(() => {});
    if (!this.#hasMore && performance.now() - this.#polledAt < STILL_FRESH_MS) return;
    this.#polling = this.#read(caller);
    try {
      await this.#polling;
    } finally {
      this.#polling = undefined;
    }
  }

  /** The rows from a number on. @throws {Fault} unavailable if they were dropped. */
  rowsFrom(number: number): FeedBatch {
    if (number < this.#first || !this.#follower) {
      throw new Fault("unavailable", "The stream was read too slowly. Continue with its last cursor.");
    }
    return { rows: this.#rows.slice(number - this.#first), position: this.#follower.position };
  }

  async #read(caller: FeedCaller): Promise<void> {
    if (!this.#follower) {
      this.#start = await caller.read(endOfLog);
      this.#follower = new LogFollower({ entityTypes: undefined, entityId: undefined }, this.#start, { batch: BATCH });
    }
    const follower = this.#follower;
    const polled = await caller.read((tx) => follower.poll(tx));
    follower.accept(polled);
    // After the clocks were set back the feed has all rows from there on.
    if (this.#start && follower.position.createdAt < this.#start) this.#start = follower.position.createdAt;
    this.#revision = caller.revision;
    this.#polledAt = performance.now();
    this.#hasMore = !polled.isAll && polled.rows.length > 0;
    this.#rows.push(...polled.rows);
    this.#dropTaken();
    if (polled.rows.length > 0) for (const reader of this.#readers) reader.wake();
  }

  /** Drops what all readers have taken, and the oldest rows above the limit. */
  #dropTaken(): void {
    const taken = Math.min(this.end, ...[...this.#readers].map(({ next }) => next));
    const count = Math.max(taken - this.#first, this.#rows.length - MAX_WAITING, 0);
    this.#rows.splice(0, count);
    this.#first += count;
  }
}

export class FeedReader {
  readonly #feed: LogFeed;
  readonly leave: () => void;
  #next: number;
  #isTaking = false;
  #wake: (() => void) | undefined;

  constructor(feed: LogFeed, leave: () => void) {
    this.#feed = feed;
    this.leave = leave;
    this.#next = feed.end;
  }

  /** The number of the next row to take. A reader that takes none yet keeps none. */
  get next(): number {
    return this.#isTaking ? this.#next : this.#feed.end;
  }

  async begin(caller: FeedCaller): Promise<Date> {
    for (;;) {
      await this.#feed.poll(caller);
      if (this.#feed.start) return this.#feed.start;
    }
  }

  /** Rows that appear from now on are taken. */
  startTaking(): void {
    this.#next = this.#feed.end;
    this.#isTaking = true;
  }

  /**
   * The next rows, if the caller still has its rights and its key or sign-in has not ended.
   * @throws {Fault} unavailable for a reader that was too slow; that of a caller who lost its rights.
   */
  async take(caller: FeedCaller): Promise<FeedBatch> {
    await this.#feed.poll(caller);
    if (caller.hasEnded || caller.revision !== this.#feed.revision) await caller.read(async () => undefined);
    const taken = this.#feed.rowsFrom(this.#next);
    this.#next = this.#feed.end;
    return taken;
  }

  /** Waits for the next poll, or until another reader has found rows. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(end, POLL_INTERVAL_MS);
      signal.addEventListener("abort", end);
      this.#wake = end;
      if (signal.aborted) end();
    });
  }

  wake(): void {
    this.#wake?.();
  }
}
