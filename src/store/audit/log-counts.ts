import { DAY_MS } from "../../base/clock.js";
import type { Uuid } from "../../base/ids.js";
import { boundQuery, boundWrite } from "../statements/bound-statement.js";
import { bigint, text, time, uuid } from "../statements/parameter.js";
import { defineHasRow } from "../statements/row-statements.js";
import type { Transaction } from "../transactions/transaction.js";

/** How many rows of an hour, or of a day, say the same. */
export interface LogCount {
  readonly at: Date;
  readonly operation: string;
  readonly entityType: string;
  readonly outcome: string;
  /** reveal, mask, redact, or empty: no value was asked for. */
  readonly shown: string;
  readonly n: number;
}

/** How many rows of a day one actor left. */
export interface ActorCount {
  readonly day: Date;
  readonly actorType: string;
  readonly actorId: Uuid;
  readonly outcome: string;
  readonly shown: string;
  readonly n: number;
}

export const COUNTED_DAYS = 400;
/** Days for which counts by hour are kept: a month, and the days around it. */
export const COUNTED_HOURS_DAYS = 35;
/** Actors of a day that are counted by themselves. Further ones are counted together. */
const ACTORS_OF_A_DAY = 500;

const COUNT_ROWS = boundWrite<LogCount & { readonly step: "hour" | "day" }>({
  table: "log_counts",
  sql: `
    insert into log_counts (tenant_id, step, at, operation, entity_type, outcome, shown, n)
    values {(:tenant, :step, :at, :operation, :entity_type, :outcome, :shown, :n)}
    on conflict (tenant_id, step, at, operation, entity_type, outcome, shown)
      do update set n = log_counts.n + excluded.n`,
  parameters: {
    step: text(({ step }) => step),
    at: time(({ at }) => at),
    operation: text(({ operation }) => operation),
    entity_type: text(({ entityType }) => entityType),
    outcome: text(({ outcome }) => outcome),
    shown: text(({ shown }) => shown),
    n: bigint(({ n }) => n),
  },
  ...addedBy(
    ({ step, at, operation, entityType, outcome, shown }) =>
      `${step} ${at.getTime()} ${operation} ${entityType} ${outcome} ${shown}`,
  ),
});

const COUNT_ACTORS = boundWrite<Omit<ActorCount, "actorId"> & { readonly actorId: Uuid | null }>({
  table: "log_actor_counts",
  sql: `
    insert into log_actor_counts (tenant_id, day, actor_type, actor_id, outcome, shown, n)
    values {(:tenant, :day, :actor_type, coalesce(:actor_id, '00000000-0000-0000-0000-000000000000'::uuid), :outcome, :shown, :n)}
    on conflict (tenant_id, day, actor_id, outcome, shown) do update set n = log_actor_counts.n + excluded.n`,
  parameters: {
    day: time(({ day }) => day),
    actor_type: text(({ actorType }) => actorType),
    actor_id: uuid(({ actorId }) => actorId),
    outcome: text(({ outcome }) => outcome),
    shown: text(({ shown }) => shown),
    n: bigint(({ n }) => n),
  },
  ...addedBy(({ day, actorId, outcome, shown }) => `${day.getTime()} ${actorId} ${outcome} ${shown}`),
});

/** Adds up the counts of one key. */
function addedBy<Count extends { readonly n: number }>(sortKey: (count: Count) => string) {
  const combine = (counts: readonly Count[]) => {
    const sums = new Map<string, Count>();
    for (const count of counts) {
      const key = sortKey(count);
      sums.set(key, { ...count, n: (sums.get(key)?.n ?? 0) + count.n });
    }
    return [...sums.values()];
  };
  return { sortKey, combine };
}

/** The actors that are counted by themselves on a day. */
const KNOWN_ACTORS = boundQuery<Date, ReadonlySet<string>, string>({
  table: "log_actor_counts",
  kind: "read",
  sql: "select distinct actor_id::text from log_actor_counts where tenant_id = :tenant and day = :day",
  parameters: { day: time((day) => day) },
  sortKey: (day) => day.toISOString(),
  row: (column) => column.text(),
  outputs: (rows) => rows.map((ids) => new Set(ids)),
});

/** Adds rows of an hour that are sealed in the same transaction, to the counts of the hour and of the day. */
export function addLogCount(tx: Transaction, count: LogCount): void {
  tx.enqueue(COUNT_ROWS, { ...count, step: "hour" });
  const day = new Date(Math.floor(count.at.getTime() / DAY_MS) * DAY_MS);
  tx.enqueue(COUNT_ROWS, { ...count, at: day, step: "day" });
}

/** Actors that are counted by themselves, by the time of their day in milliseconds. */
export type KnownActors = ReadonlyMap<number, ReadonlySet<string>>;

export async function findKnownActors(tx: Transaction, actors: readonly ActorCount[]): Promise<KnownActors> {
  const days = [...new Set(actors.map(({ day }) => day.getTime()))];
  const known = await Promise.all(days.map((day) => tx.query(KNOWN_ACTORS, new Date(day))));
  return new Map(days.map((day, index) => [day, known[index] ?? new Set<string>()]));
}

/**
 * Adds rows of actors that are sealed in the same transaction. The head of the chain lets one transaction at a time seal,
 * so no other one makes actors known meanwhile.
 */
export function addActorCounts(tx: Transaction, actors: readonly ActorCount[], knownActors: KnownActors): void {
  const byDay = new Map([...knownActors].map(([day, ids]) => [day, new Set(ids)]));
  for (const actor of actors) {
    const known = byDay.get(actor.day.getTime());
    if (known && known.size < ACTORS_OF_A_DAY) known.add(actor.actorId);
    tx.enqueue(COUNT_ACTORS, known?.has(actor.actorId) ? actor : { ...actor, actorId: null, actorType: "" });
  }
}

export interface CountRetention {
  readonly hoursBefore: Date;
  readonly daysBefore: Date;
  readonly actorsBefore: Date;
}

const FORGET_COUNTS = boundWrite<{ readonly step: "hour" | "day"; readonly before: Date }>({
  table: "log_counts",
  sql: "delete from log_counts where tenant_id = :tenant and step = :step and at < :before",
  parameters: { step: text(({ step }) => step), before: time(({ before }) => before) },
  sortKey: ({ step }) => step,
});

const FORGET_ACTORS = boundWrite<Date>({
  table: "log_actor_counts",
  sql: "delete from log_actor_counts where tenant_id = :tenant and day < :before",
  parameters: { before: time((before) => before) },
  sortKey: (before) => before.toISOString(),
});

export const hasLogCounts = defineHasRow<"any">(
  "log_counts",
  (sql, tenantId) => sql`
    (select 1 from log_counts where tenant_id = ${tenantId} limit 1)
    union all (select 1 from log_actor_counts where tenant_id = ${tenantId} limit 1)`,
);

/** Deletes counts that are past their retention: those of a day, as this runs once a day. */
export function forgetLogCounts(tx: Transaction, { hoursBefore, daysBefore, actorsBefore }: CountRetention): void {
  tx.enqueue(FORGET_COUNTS, { step: "hour", before: hoursBefore });
  tx.enqueue(FORGET_COUNTS, { step: "day", before: daysBefore });
  tx.enqueue(FORGET_ACTORS, actorsBefore);
}
