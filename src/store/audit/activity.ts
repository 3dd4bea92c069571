import type { Uuid } from "../../base/ids.js";
import { defineRows } from "../statements/row-statements.js";
import type { SqlTag } from "../statements/statement.js";

/** The step of a chart's bars, in UTC. */
export type ActivityStep = "hour" | "day" | "month";

export interface ActivityRange {
  readonly from: Date;
  /** Before this. */
  readonly until: Date;
  readonly step: ActivityStep;
  /** Rows about any of these types. Absent: all. */
  readonly entityTypes: readonly string[] | undefined;
  readonly operation: string | undefined;
}

/** How many rows of a step ended alike and were shown alike. */
export interface ActivityRow {
  readonly at: Date;
  readonly outcome: string;
  readonly shown: string;
  /** Whether the rows are about a change of something. */
  readonly changed: boolean;
  readonly n: number;
}

/** How many rows of one group ended alike and were shown alike. */
export interface GroupRow {
  /** The operation or entity type; of an actor its type. */
  readonly name: string;
  readonly actor_id: Uuid | null;
  readonly outcome: string;
  readonly shown: string;
  readonly n: number;
}

export type ActivityGrouping = "operation" | "entity_type" | "actor";

/** Rows without a seal that one read counts by itself. There are seldom more than two minutes of them. */
const MAX_RECENT = 10_000;

/** Up to when rows are counted: now, or the last seal if there are too many rows without one. */
export const readCountedUntil = defineRows<"until", { readonly until: Date | null; readonly is_recent: boolean }>(
  "audit_logs",
  (sql, tenantId) => sql`
    with ${recentRows(sql, tenantId)}
    select (select until from sealed) as until, (select count(*) from recent) <= ${MAX_RECENT} as is_recent`,
);

export const readActivity = defineRows<ActivityRange, ActivityRow>(
  "log_counts",
  (sql, tenantId, range) => sql`
    with ${recentRows(sql, tenantId)}
    select date_trunc(${range.step}, c.at, 'UTC') as at, c.outcome, c.shown,
      c.operation in ('create', 'update', 'delete') as changed, sum(c.n)::bigint as n
    from (${countedRows(sql, tenantId, range)}) c
    group by 1, 2, 3, 4`,
);

/** The counts of a range by operation or entity type. */
export const readActivityGroups = defineRows<
  ActivityRange & { readonly by: Exclude<ActivityGrouping, "actor"> },
  GroupRow
>(
  "log_counts",
  (sql, tenantId, range) => sql`
    with ${recentRows(sql, tenantId)}
    select ${sql.unsafe(range.by === "operation" ? "c.operation" : "c.entity_type")} as name, null::uuid as actor_id,
      c.outcome, c.shown, sum(c.n)::bigint as n
    from (${countedRows(sql, tenantId, range)}) c
    group by 1, 3, 4`,
);

/** The counts of the actors with the most rows in the clear, then with the most rows. Of whole days. */
export const readActiveActors = defineRows<
  Pick<ActivityRange, "from" | "until"> & { readonly limit: number },
  GroupRow
>(
  "log_actor_counts",
  (sql, tenantId, { from, until, limit }) => sql`
    with ${recentRows(sql, tenantId)}, counted as (
      select actor_id, actor_type, outcome, shown, sum(n)::bigint as n from (
        select actor_id, actor_type, outcome, shown, n from log_actor_counts
        where tenant_id = ${tenantId} and day >= ${from} and day < ${until}
        union all
        select actor_id, actor_type, outcome, coalesce(transform, ''), 1 from recent
        where ${isRecent(sql)} and actor_id is not null and created_at >= ${from} and created_at < ${until}
      ) c group by 1, 2, 3, 4
    ), first as (
      select actor_id, actor_type from counted group by 1, 2
      order by coalesce(sum(n) filter (where outcome = 'allowed' and shown = 'reveal'), 0) desc, sum(n) desc, actor_id
      limit ${limit}
    )
    select c.actor_type as name, c.actor_id, c.outcome, c.shown, c.n
    from counted c join first using (actor_id, actor_type)`,
);

/** Rows since the last seal, which nothing has counted yet; one more than are counted by a read shows that there are more. */
function recentRows(sql: SqlTag, tenantId: string) {
  return sql`
    sealed as (
      select case kind when 'minute' then window_start + interval '1 minute' else window_start end as until
      from audit_seals where tenant_id = ${tenantId} order by number desc limit 1
    ), recent as materialized (
      select created_at, actor_id, actor_type, operation, entity_type, outcome, transform from audit_logs
      where tenant_id = ${tenantId} and set_aside is null
        and created_at >= coalesce((select until from sealed), timestamptz 'epoch')
      order by created_at limit ${MAX_RECENT + 1}
    )`;
}

function isRecent(sql: SqlTag) {
  return sql`(select count(*) from recent) <= ${MAX_RECENT}`;
}

function countedRows(sql: SqlTag, tenantId: string, { from, until, step, entityTypes, operation }: ActivityRange) {
  const filter = sql`
    ${entityTypes === undefined ? sql`` : sql`and entity_type = any(${[...entityTypes]})`}
    ${operation === undefined ? sql`` : sql`and operation = ${operation}`}`;
  return sql`
    select at, operation, entity_type, outcome, shown, n from log_counts
    where tenant_id = ${tenantId} and step = ${step === "hour" ? "hour" : "day"} and at >= ${from} and at < ${until}
      ${filter}
    union all
    select created_at, operation, entity_type, outcome, coalesce(transform, ''), 1 from recent
    where ${isRecent(sql)} and created_at >= ${from} and created_at < ${until} ${filter}`;
}
