import { LogPump } from "../audit/log-pump.js";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { type LogSink, SinkFailed, type SinkName } from "../sinks/sink.js";
import type { Database } from "../store/database.js";
import { type DueMinute, forgetDue, type SinkDueKind } from "../store/due.js";
import type { Job } from "./schedule.js";

const EVERY_MS = 2_000;
const LEASE_SECONDS = 60;
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
  const left = new Map<TenantId, DueMinute<SinkDueKind>[]>();
  for await (const minute of dueMinutes(database, `log_${sink.name}`, now)) {
    left.set(minute.tenantId, [...(left.get(minute.tenantId) ?? []), minute]);
  }
  const oldest = [...left.values()].flat().map(({ minute }) => minute.getTime());
  let isBehind = failures.areResting;
  const turns = new Set(isBehind ? [] : left.keys());
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
          failures.failed(error);
          turns.clear();
        } else onFailure(tenantId, error);
      }
    }
  }
  const since = oldest.reduce((least, time) => Math.min(least, time), now.getTime());
  parts.onLag(sink.name, isBehind ? (now.getTime() - since) / 1_000 : 0);
}

async function* dueMinutes(database: Database, kind: SinkDueKind, now: Date): AsyncGenerator<DueMinute<SinkDueKind>> {
  let due: readonly DueMinute<SinkDueKind>[] = [];
  do {
    due = await database.due([kind], now, due.at(-1));
    yield* due;
  } while (due.length > 0);
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

  constructor(parts: LogSinkParts) {
    this.#parts = parts;
  }

  get areResting(): boolean {
    return performance.now() < this.#restUntil;
  }

  succeeded(): void {
    if (this.#count > 0) this.#parts.onState(this.#parts.sink.name, undefined);
    this.#count = 0;
  }

  /** Waits twice as long after each failure, with up to a quarter less, or as long as the receiver asks. */
  failed({ message, waitMs }: SinkFailed): void {
    if (this.#count === 0) this.#parts.onState(this.#parts.sink.name, message);
    const wait = waitMs ?? WAITS.first * 2 ** Math.min(this.#count, 10) * (0.75 + Math.random() / 4);
    this.#count += 1;
    this.#restUntil = performance.now() + Math.min(wait, WAITS.most);
  }
}
