import { randomInt } from "node:crypto";
import type { TenantId } from "../../base/ids.js";
import { boundWrite } from "../statements/bound-statement.js";
import { bigint, date, integer, text, time } from "../statements/parameter.js";
import { defineRows } from "../statements/row-statements.js";
import type { Transaction } from "../transactions/transaction.js";

/** Rows per counter. With one row, all writers of a tenant would queue for it. */
const SLOTS = 16;

export interface CountChange {
  readonly type: string;
  readonly change: 1 | -1;
  /** Set when a token was created. */
  readonly createdAt: Date | undefined;
}

/** Updates the number of tokens of each type: one row per type and transaction. */
export const countToken = boundWrite<Omit<CountChange, "change"> & { readonly change: number }>({
  table: "token_counts",
  isAtCommit: true,
  sql: `
    insert into token_counts (tenant_id, type, slot, n, last_created_at)
    values {(:tenant, :type, :slot, :change, :created_at)}
    on conflict (tenant_id, type, slot) do update set n = token_counts.n + excluded.n,
      last_created_at = greatest(token_counts.last_created_at, excluded.last_created_at)`,
  parameters: {
    type: text(({ type }) => type),
    slot: integer(() => randomInt(SLOTS)),
    change: bigint(({ change }) => change),
    created_at: time(({ createdAt }) => createdAt ?? null),
  },
  sortKey: ({ type }) => type,
  combine(changes) {
    const byType = new Map<string, { type: string; change: number; createdAt: Date | undefined }>();
    for (const { type, change, createdAt } of changes) {
      const sum = byType.get(type) ?? { type, change: 0, createdAt: undefined };
      sum.change += change;
      if (createdAt && (!sum.createdAt || createdAt > sum.createdAt)) sum.createdAt = createdAt;
      byType.set(type, sum);
    }
    return [...byType.values()];
  },
});

const COUNT_ACTIVE = boundWrite<{ readonly month: string; readonly n: number }>({
  table: "token_activity",
  isAtCommit: true,
  sql: `
    insert into token_activity (tenant_id, month, slot, n)
    values {(:tenant, :month, :slot, :n)}
    on conflict (tenant_id, month, slot) do update set n = token_activity.n + excluded.n`,
  parameters: {
    month: date(({ month }) => month),
    slot: integer(() => randomInt(SLOTS)),
    n: bigint(({ n }) => n),
  },
  sortKey: ({ month }) => month,
  combine(counts) {
    const byMonth = new Map<string, number>();
    for (const { month, n } of counts) byMonth.set(month, (byMonth.get(month) ?? 0) + n);
    return [...byMonth].map(([month, n]) => ({ month, n }));
  },
});

/** Counts a token that became active in a month, given as its first day, YYYY-MM-DD. */
export function countActiveToken(tx: Transaction, month: string): void {
  tx.enqueue(COUNT_ACTIVE, { month, n: 1 });
}

/** The number of tokens of a type, and the creation time of the newest one. */
export interface TypeUsage {
  readonly type: string;
  readonly n: number;
  readonly last_created_at: Date | null;
}

/** By type, without tokens that have expired and are not swept yet. */
export const usageByType = defineRows<TenantId, TypeUsage>(
  "token_counts",
  (sql, tenantId, _, at) => sql`
    select c.type, (sum(c.n) - coalesce(min(e.n), 0))::bigint as n, max(c.last_created_at) as last_created_at
    from token_counts c
    left join (
      select type, count(*) as n from tokens where tenant_id = ${tenantId} and expires_at <= ${at} group by type
    ) e on e.type = c.type
    where c.tenant_id = ${tenantId} group by c.type order by c.type`,
);

/** Tokens that were active in a month, given as its first day, YYYY-MM-DD. */
export interface MonthlyActive {
  readonly month: string;
  readonly n: number;
}

/** The active tokens of each month since one, oldest first. */
export const activeByMonth = defineRows<string, MonthlyActive>(
  "token_activity",
  (sql, tenantId, since) => sql`
    select month::text as month, sum(n)::bigint as n from token_activity
    where tenant_id = ${tenantId} and month >= ${since}::text::date group by month order by month`,
);
