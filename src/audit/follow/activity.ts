import { DAY_MS, HOUR_MS } from "../../base/clock.js";
import { invalid } from "../../base/fault.js";
import type { Uuid } from "../../base/ids.js";
import {
  type ActivityGrouping,
  type ActivityRange,
  type ActivityRow,
  type ActivityStep,
  type GroupRow,
  readActiveActors,
  readActivity,
  readActivityGroups,
  readCountedUntil,
} from "../../store/audit/activity.js";
import { COUNTED_DAYS, COUNTED_HOURS_DAYS } from "../../store/audit/log-counts.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import { entityTypesMatching } from "../log-entry.js";
import { parseTime } from "./log-filter.js";

/** A caller's question about the activity, unparsed but for the words that the protos check. */
export interface ActivityQuery {
  readonly startDate?: string | undefined;
  readonly endDate?: string | undefined;
  readonly step?: string | undefined;
  readonly entityType?: string | undefined;
  readonly operation?: string | undefined;
  readonly by?: string | undefined;
}

export type ActivityCounts = ReturnType<typeof sumCounts>;

export interface ActivityBucket {
  readonly at: Date;
  readonly counts: ActivityCounts;
}

export interface ActivityGroup {
  readonly name: string;
  readonly actorId: Uuid | undefined;
  readonly counts: ActivityCounts;
}

export interface Activity {
  readonly buckets: readonly ActivityBucket[];
  readonly groups: readonly ActivityGroup[];
  readonly countedUntil: Date | undefined;
}

const MAX_GROUPS = 50;
/** Actors that are counted together have it. */
const NO_ACTOR = "00000000-0000-0000-0000-000000000000";

/** @throws {Fault} validation_failed for a time that is not one, a range that is too long, and filters of actors. */
export function prepareActivity(query: ActivityQuery, now: Date): (tx: Transaction) => Promise<Activity> {
  const range = activityRange(query, now);
  const by = askedGrouping(query);
  return async (tx) => {
    const [rows, groups, [counted]] = await Promise.all([
      tx.query(readActivity, range),
      by === undefined ? [] : readGroups(tx, range, by),
      tx.query(readCountedUntil, "until"),
    ]);
    const countedUntil = counted?.is_recent ? now : (counted?.until ?? undefined);
    return { buckets: fillBuckets(rows, range), groups: sortedGroups(groups), countedUntil };
  };
}

function readGroups(tx: Transaction, range: ActivityRange, by: ActivityGrouping): Promise<readonly GroupRow[]> {
  if (by !== "actor") return tx.query(readActivityGroups, { ...range, by });
  const from = new Date(Math.floor(range.from.getTime() / DAY_MS) * DAY_MS);
  return tx.query(readActiveActors, { from, until: range.until, limit: MAX_GROUPS });
}

function activityRange(
  { startDate, endDate, step: asked, entityType, operation }: ActivityQuery,
  now: Date,
): ActivityRange {
  const step = asked === "day" || asked === "month" ? asked : "hour";
  const until = endDate === undefined ? now : parseTime("end_date", endDate);
  const start = startDate === undefined ? new Date(until.getTime() - DAY_MS) : parseTime("start_date", startDate);
  if (start >= until) throw invalid("start_date", "must be before end_date, or before now");
  const days = step === "hour" ? COUNTED_HOURS_DAYS : COUNTED_DAYS;
  if (until.getTime() - start.getTime() > days * DAY_MS) {
    throw invalid("start_date", `must be at most ${days} days before end_date, or before now, with step ${step}`);
  }
  const entityTypes = entityType === undefined ? undefined : entityTypesMatching(entityType);
  return { from: stepStart(start, step), until, step, entityTypes, operation };
}

function askedGrouping({ by, entityType, operation }: ActivityQuery): ActivityGrouping | undefined {
  if (by === "operation" || by === "entity_type") return by;
  if (by !== "actor") return undefined;
  if (entityType !== undefined) throw invalid("entity_type", "must not be given with by actor");
  if (operation !== undefined) throw invalid("operation", "must not be given with by actor");
  return "actor";
}

/** The first moment of a time's hour, day or month in UTC. */
function stepStart(time: Date, step: ActivityStep): Date {
  if (step === "month") return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), 1));
  const length = step === "hour" ? HOUR_MS : DAY_MS;
  return new Date(Math.floor(time.getTime() / length) * length);
}

function nextStep(at: Date, step: ActivityStep): Date {
  if (step === "month") return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1));
  return new Date(at.getTime() + (step === "hour" ? HOUR_MS : DAY_MS));
}

function fillBuckets(rows: readonly ActivityRow[], { from, until, step }: ActivityRange): ActivityBucket[] {
  const byTime = Map.groupBy(rows, ({ at }) => at.getTime());
  const buckets: ActivityBucket[] = [];
  for (let at = from; at < until; at = nextStep(at, step)) {
    const counts = sumCounts(byTime.get(at.getTime()) ?? []);
    buckets.push({ at, counts });
  }
  return buckets;
}

function sortedGroups(rows: readonly GroupRow[]): ActivityGroup[] {
  const groups = Map.groupBy(rows, ({ name, actor_id }) => `${actor_id ?? ""} ${name}`);
  return [...groups.values()]
    .map((ofGroup): ActivityGroup => {
      const [first] = ofGroup;
      const actorId = first?.actor_id ?? undefined;
      const counts = sumCounts(ofGroup);
      return { name: first?.name ?? "", actorId: actorId === NO_ACTOR ? undefined : actorId, counts };
    })
    .toSorted((one, other) => other.counts.revealed - one.counts.revealed || groupTotal(other) - groupTotal(one))
    .slice(0, MAX_GROUPS);
}

function groupTotal({ counts: { revealed, masked, redacted, other, denied, failed } }: ActivityGroup): number {
  return revealed + masked + redacted + other + denied + failed;
}

const SHOWN: ReadonlyMap<string, "revealed" | "masked" | "redacted"> = new Map([
  ["reveal", "revealed"],
  ["mask", "masked"],
  ["redact", "redacted"],
]);

function sumCounts(
  rows: readonly { readonly outcome: string; readonly shown: string; readonly n: number; readonly changed?: boolean }[],
) {
  const counts = { revealed: 0, masked: 0, redacted: 0, other: 0, denied: 0, failed: 0, changes: 0 };
  for (const { outcome, shown, changed, n } of rows) {
    if (outcome === "denied" || outcome === "failed") counts[outcome] += n;
    else counts[SHOWN.get(shown) ?? "other"] += n;
    if (changed) counts.changes += n;
  }
  return counts;
}
