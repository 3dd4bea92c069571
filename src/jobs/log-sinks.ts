import { LogOutages, OUTAGE_MS } from "../audit/log-outages.js";
import { LogPump } from "../audit/log-pump.js";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { type LogSink, SinkFailed, type SinkName } from "../sinks/sink.js";
import type { Database } from "../store/database.js";
import { type DueMinute, forgetDue, type SinkDueKind } from "../store/due.js";
import { Backoff } from "./backoff.js";
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
  const outages = new LogOutages(database, sink.name);
  const failures = new Backoff(WAITS, (problem) => parts.onState(sink.name, problem));
  return {
    name: `log sink ${sink.name}`,
    intervalMs: EVERY_MS,
    async run(signal) {
      if (!(await lease.hold())) {
        pump.forget();
        outages.forget();
        parts.onLag(sink.name, 0);
        return;
      }
      await pump.settle();
      await sendDue({ ...parts, pump, failures, outages }, { signal, holdsLease: () => lease.hold() });
    },
    async end() {
      await sink.close();
      await lease.release();
    },
  };
}

/** Of one tenant, oldest first. */
type Minutes = readonly DueMinute<SinkDueKind>[];

interface SendParts extends LogSinkParts {
  readonly pump: LogPump;
  readonly failures: Backoff;
  readonly outages: LogOutages;
}

interface Running {
  readonly signal: AbortSignal;
  readonly holdsLease: () => Promise<boolean>;
}

/** Gives each tenant a turn, until none has more. */
async function sendDue(parts: SendParts, running: Running): Promise<void> {
  const { database, clock, sink, pump, failures, onFailure } = parts;
  const now = new Date(clock.now());
  const left = new Map<TenantId, Minutes>();
  for await (const minute of dueMinutes(database, `log_${sink.name}`, now)) {
    left.set(minute.tenantId, [...(left.get(minute.tenantId) ?? []), minute]);
  }
  const oldest = [...left.values()].flat().map(({ minute }) => minute.getTime());
  let isBehind = failures.isResting;
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
        if (outcome.left === "done") await finish(parts, tenantId, left.get(tenantId) ?? [], now);
        if (outcome.left === "more") turns.add(tenantId);
      } catch (error) {
        if (running.signal.aborted) return;
        isBehind = true;
        if (error instanceof SinkFailed) {
          failures.failed(error.message, error.waitMs);
          turns.clear();
        } else onFailure(tenantId, error);
      }
    }
  }
  if (isBehind) await noteOutages(parts, left, now);
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

/** The sink has all of a tenant's log. */
async function finish(
  { database, outages }: SendParts,
  tenantId: TenantId,
  minutes: Minutes,
  now: Date,
): Promise<void> {
  await forget(database, minutes);
  // Only late minutes can have had an outage.
  if (minutes[0] && now.getTime() - minutes[0].minute.getTime() >= OUTAGE_MS) await outages.ended(tenantId);
}

async function noteOutages({ outages, onFailure }: SendParts, left: ReadonlyMap<TenantId, Minutes>, now: Date) {
  for (const [tenantId, [oldest]] of left) {
    if (!oldest) continue;
    await outages.lasts(tenantId, oldest.minute, now).catch((error: unknown) => onFailure(tenantId, error));
  }
}

/** A minute that has just been noted stays: see {@link forgetDue}. */
async function forget(database: Database, minutes: Minutes): Promise<void> {
  const [first] = minutes;
  if (!first) return;
  await database.bulk.run(first.tenantId, "unguarded", async (tx) => {
    for (const { kind, minute } of minutes) tx.enqueue(forgetDue, { kind, minute });
  });
}
