import { LogPump } from "../audit/log-pump.js";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { type LogSink, SinkFailed, type SinkName } from "../sinks/sink.js";
import type { Database } from "../store/database.js";
import { type DueMinute, forgetDue, type SinkDueKind } from "../store/due.js";
import type { Job } from "./schedule.js";

const EVERY_MS = 2_000;
const LEASE_SECONDS = 60;
/** Due minutes that one run takes: a thousand tenants have millions of them after a day without the receiver. */
const MOST_DUE = 100_000;
/** Waits after failures grow from the first to the last, in milliseconds. */
const WAITS = { first: 1_000, most: 5 * 60_000 };

export interface LogSinkParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly sink: LogSink;
  /** How long the oldest seal that the sink does not have has been waiting, in seconds. */
  readonly onLag: (sink: SinkName, seconds: number) => void;
  /** The sink does not take records. Called at the first failure, and with `undefined` once it takes them again. */
  readonly onState: (sink: SinkName, problem: string | undefined) => void;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/** Sends tenants' logs to a sink. One replica does it at a time. A sink that is down delays no other. */
export function logSinkJob(parts: LogSinkParts): Job {
  const { database, sink } = parts;
  const lease = database.lease(`audit-sink-${sink.name}`, LEASE_SECONDS);
  const pump = new LogPump(database, sink);
  const failures = new Failures(parts);
  return {
    name: `log sink ${sink.name}`,
    intervalMs: EVERY_MS,
    async run(signal) {
      if (!(await lease.hold())) {
        pump.forget();
        parts.onLag(sink.name, 0);
        return;
      }
      await pump.settle();
      await sendDue(parts, pump, failures, { signal, holdsLease: () => lease.hold() });
    },
    async end() {
      await sink.close();
      await lease.release();
    },
  };
}

interface Running {
  readonly signal: AbortSignal;
  readonly holdsLease: () => Promise<boolean>;
}

/** Gives each tenant a turn, until none has more. */
async function sendDue(parts: LogSinkParts, pump: LogPump, failures: Failures, running: Running): Promise<void> {
  const { database, clock, sink, onFailure } = parts;
  const now = new Date(clock.now());
  if (failures.areResting) return parts.onLag(sink.name, failures.lagAt(now));
  const { left, oldest } = await dueMinutes(database, `log_${sink.name}`, now);
  let isBehind = false;
  const turns = new Set(left.keys());
  const mayContinue = async () => !running.signal.aborted && (await running.holdsLease());
  while (turns.size > 0) {
    for (const tenantId of [...turns]) {
      if (turns.size === 0) break;
      if (!(await mayContinue())) return;
      turns.delete(tenantId);
      try {
        const outcome = await pump.turn(tenantId, running.signal);
        if (outcome.hasSent) failures.succeeded();
        if (outcome.left === "done") await forget(database, left.get(tenantId) ?? []);
        if (outcome.left === "more") turns.add(tenantId);
      } catch (error) {
        isBehind = true;
        if (error instanceof SinkFailed) {
          failures.failed(error, oldest);
          turns.clear();
        } else onFailure(tenantId, error);
      }
    }
  }
  parts.onLag(sink.name, isBehind ? (now.getTime() - oldest.getTime()) / 1_000 : 0);
}

interface DueMinutes {
  readonly left: ReadonlyMap<TenantId, readonly DueMinute<SinkDueKind>[]>;
  readonly oldest: Date;
}

/** The oldest due minutes by tenant. The next run gets the others. */
async function dueMinutes(database: Database, kind: SinkDueKind, now: Date): Promise<DueMinutes> {
  const left = new Map<TenantId, DueMinute<SinkDueKind>[]>();
  let oldest = now;
  let count = 0;
  let due: readonly DueMinute<SinkDueKind>[] = [];
  do {
    due = await database.due([kind], now, due.at(-1));
    for (const minute of due) {
      const ofTenant = left.get(minute.tenantId);
      if (ofTenant) ofTenant.push(minute);
      else left.set(minute.tenantId, [minute]);
      if (minute.minute < oldest) oldest = minute.minute;
    }
    count += due.length;
  } while (due.length > 0 && count < MOST_DUE);
  return { left, oldest };
}

/** A minute that has just been noted stays: see {@link forgetDue}. */
async function forget(database: Database, minutes: readonly DueMinute<SinkDueKind>[]): Promise<void> {
  const [first] = minutes;
  if (!first) return;
  await database.bulk.run(first.tenantId, "unguarded", async (tx) => {
    for (const { kind, minute } of minutes) tx.enqueue(forgetDue, { kind, minute });
  });
}

/** Consecutive failures of a sink, and when it is tried again. */
class Failures {
  readonly #parts: LogSinkParts;
  #count = 0;
  #restUntil = Number.NEGATIVE_INFINITY;
  /** The oldest minute that the sink did not have at the last failure. */
  #oldest: Date | undefined;

  constructor(parts: LogSinkParts) {
    this.#parts = parts;
  }

  get areResting(): boolean {
    return performance.now() < this.#restUntil;
  }

  /** Seconds. No minute is forgotten while the sink rests, so they are not read again. */
  lagAt(now: Date): number {
    return this.#oldest ? (now.getTime() - this.#oldest.getTime()) / 1_000 : 0;
  }

  succeeded(): void {
    if (this.#count > 0) this.#parts.onState(this.#parts.sink.name, undefined);
    this.#count = 0;
  }

  /** Waits twice as long after each failure, with up to a quarter less, or as long as the receiver asks. */
  failed({ message, waitMs }: SinkFailed, oldest: Date): void {
    this.#oldest = oldest;
    if (this.#count === 0) this.#parts.onState(this.#parts.sink.name, message);
    const wait = waitMs ?? WAITS.first * 2 ** Math.min(this.#count, 10) * (0.75 + Math.random() / 4);
    this.#count += 1;
    this.#restUntil = performance.now() + Math.min(wait, WAITS.most);
  }
}
