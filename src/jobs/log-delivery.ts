import { LogOutages, OUTAGE_MS } from "../audit/delivery/log-outages.js";
import { LogPump } from "../audit/delivery/log-pump.js";
import type { Clock } from "../base/clock.js";
import { type TenantId, VAULT_TENANT_ID } from "../base/ids.js";
import { type LogSink, SinkFailed, type SinkName } from "../sinks/sink.js";
import type { Database } from "../store/database.js";
import { type DueMinute, deleteDueMinute, type SinkDueKind } from "../store/jobs/due.js";
import { Backoff } from "./backoff.js";
import type { Job } from "./schedule.js";

const EVERY_MS = 2_000;
const LEASE_SECONDS = 60;
/** Waits after failures grow from the first to the last, in milliseconds. */
const WAITS = { first: 1_000, most: 5 * 60_000 };
/** Due minutes that one run takes: a thousand tenants have millions of them after a day without the receiver. */
const MAX_DUE = 100_000;

/** Between two looks at the vault's own log, in milliseconds. Its rows are few, and none is noted as due. */
const VAULT_EVERY_MS = 10_000;

export interface LogDeliveryParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly sink: LogSink;
  /** How long the oldest seal that the sink does not have has been waiting, in seconds. */
  readonly onLag: (sink: SinkName, seconds: number) => void;
  /** The sink does not take records. Called at the first failure, and with `undefined` once it takes them again. */
  readonly onState: (sink: SinkName, problem: string | undefined) => void;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/** Sends tenants' logs and the vault's own to a sink. One replica does it at a time. A sink that is down delays no other. */
export function logDeliveryJob(parts: LogDeliveryParts): Job {
  const { database, sink } = parts;
  const lease = database.lease(`audit-sink-${sink.name}`, LEASE_SECONDS);
  const pump = new LogPump(database, sink);
  const outages = new LogOutages(database, sink.name);
  const failures = new Backoff(WAITS, (problem) => parts.onState(sink.name, problem));
  const backlog: Backlog = { oldest: undefined, vaultSince: undefined, vaultAt: Number.NEGATIVE_INFINITY };
  return {
    name: `log sink ${sink.name}`,
    intervalMs: EVERY_MS,
    async run(signal) {
      if (!(await lease.hold())) {
        pump.forget();
        outages.forget();
        backlog.oldest = undefined;
        backlog.vaultSince = undefined;
        parts.onLag(sink.name, 0);
        return;
      }
      await sendDue({ ...parts, pump, failures, outages, backlog }, { signal, holdsLease: () => lease.hold() });
    },
    async end() {
      await sink.close();
      await lease.release();
    },
  };
}

/** Of one tenant, oldest first. */
type Minutes = readonly DueMinute<SinkDueKind>[];

interface SendParts extends LogDeliveryParts {
  readonly pump: LogPump;
  readonly failures: Backoff;
  readonly outages: LogOutages;
  readonly backlog: Backlog;
}

/** The oldest minute that a failing sink does not have. None is forgotten while it rests, so none is read again. */
interface Backlog {
  oldest: Date | undefined;
  /** When the sink began to refuse the vault's own log. */
  vaultSince: Date | undefined;
  /** The last look at the vault's own log, on the clock of performance.now(). */
  vaultAt: number;
}

interface Running {
  readonly signal: AbortSignal;
  readonly holdsLease: () => Promise<boolean>;
}

/** Gives each tenant a turn, until none has more. */
async function sendDue(parts: SendParts, running: Running): Promise<void> {
  const { database, clock, sink, pump, failures, backlog, onFailure } = parts;
  const now = new Date(clock.now());
  if (failures.isResting) return parts.onLag(sink.name, secondsSince(backlog.oldest, now));
  const { left, oldest } = await dueMinutes(database, `log_${sink.name}`, now);
  const isSettled = await settles(parts, running.signal);
  let isBehind = !isSettled;
  const turns = new Set(isSettled ? [...(takesVault(backlog) ? [VAULT_TENANT_ID] : []), ...left.keys()] : []);
  const mayContinue = async () => !running.signal.aborted && (await running.holdsLease());
  while (turns.size > 0) {
    for (const tenantId of [...turns]) {
      if (turns.size === 0) break;
      if (!(await mayContinue())) return;
      turns.delete(tenantId);
      try {
        const outcome = await pump.turn(tenantId, running.signal);
        if (outcome.hasSent) failures.succeeded();
        if (tenantId === VAULT_TENANT_ID) backlog.vaultSince = undefined;
        if (outcome.left === "done") await finish(parts, tenantId, left.get(tenantId) ?? [], now);
        if (outcome.left === "more") turns.add(tenantId);
      } catch (error) {
        if (running.signal.aborted) return;
        isBehind = true;
        if (tenantId === VAULT_TENANT_ID) backlog.vaultSince ??= now;
        if (error instanceof SinkFailed) {
          failures.failed(error.message, error.waitMs);
          turns.clear();
        } else onFailure(tenantId, error);
      }
    }
  }
  const { vaultSince } = backlog;
  backlog.oldest = isBehind ? (vaultSince && vaultSince < oldest ? vaultSince : oldest) : undefined;
  if (isBehind) await noteOutages(parts, left, now);
  parts.onLag(sink.name, secondsSince(backlog.oldest, now));
}

function takesVault(backlog: Backlog): boolean {
  const now = performance.now();
  if (!backlog.vaultSince && now - backlog.vaultAt < VAULT_EVERY_MS) return false;
  backlog.vaultAt = now;
  return true;
}

function secondsSince(time: Date | undefined, now: Date): number {
  return time ? (now.getTime() - time.getTime()) / 1_000 : 0;
}

/** Whether nothing is known to be lost, and the receiver reads. */
async function settles({ pump, failures }: SendParts, signal: AbortSignal): Promise<boolean> {
  try {
    await pump.settle(signal);
    return true;
  } catch (error) {
    if (!(error instanceof SinkFailed)) throw error;
    if (!signal.aborted) failures.failed(error.message, error.waitMs);
    return false;
  }
}

interface DueMinutes {
  readonly left: ReadonlyMap<TenantId, Minutes>;
  readonly oldest: Date;
}

/** The oldest due minutes by tenant. The next run gets the others. */
async function dueMinutes(database: Database, kind: SinkDueKind, now: Date): Promise<DueMinutes> {
  const left = new Map<TenantId, DueMinute<SinkDueKind>[]>();
  let oldest = now;
  let count = 0;
  let due: readonly DueMinute<SinkDueKind>[] = [];
  do {
    due = await database.due([kind], { now, after: due.at(-1) });
    for (const minute of due) {
      const ofTenant = left.get(minute.tenantId);
      if (ofTenant) ofTenant.push(minute);
      else left.set(minute.tenantId, [minute]);
      if (minute.minute < oldest) oldest = minute.minute;
    }
    count += due.length;
  } while (due.length > 0 && count < MAX_DUE);
  return { left, oldest };
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

/** A minute that has just been noted stays: see {@link deleteDueMinute}. */
async function forget(database: Database, minutes: Minutes): Promise<void> {
  const [first] = minutes;
  if (!first) return;
  await database.of(first.tenantId).bulk(async (tx) => {
    for (const { kind, minute } of minutes) tx.enqueue(deleteDueMinute, { kind, minute });
  });
}
