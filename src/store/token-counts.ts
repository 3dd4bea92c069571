import { randomInt } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { defineStatement, defineWrite } from "./statement.js";

/** Rows per counter: with one, all writers of a tenant would queue on it. */
const SLOTS = 16;

export interface CountChange {
  readonly type: string;
  readonly change: 1 | -1;
  /** For a token that was created. */
  readonly createdAt: Date | undefined;
}

/** Keeps the number of tokens of each type: one row a type and flight. */
export const countTokens = defineWrite<CountChange>({
  table: "token_counts",
  sortKey: ({ type }) => type,
  queries(sql, tenantId, changes) {
    const slot = randomInt(SLOTS);
    const byType = new Map<string, { n: number; last: Date | null }>();
    for (const { type, change, createdAt } of changes) {
      const sum = byType.get(type) ?? { n: 0, last: null };
      const last = createdAt && (!sum.last || createdAt > sum.last) ? createdAt : sum.last;
      byType.set(type, { n: sum.n + change, last });
    }
    const rows = [...byType].map(([type, { n, last }]) => ({
      tenant_id: tenantId,
      type,
      slot,
      n,
      last_created_at: last,
    }));
    return [
      sql`
        insert into token_counts ${sql(rows)}
        on conflict (tenant_id, type, slot) do update set n = token_counts.n + excluded.n,
          last_created_at = greatest(token_counts.last_created_at, excluded.last_created_at)`,
    ];
  },
});

/** Counts tokens that became active in a month, given as its first day, YYYY-MM-DD. */
export const countActive = defineWrite<string>({
  table: "token_activity",
  sortKey: (month) => month,
  queries(sql, tenantId, months) {
    const slot = randomInt(SLOTS);
    const rows = [...new Set(months)].map((month) => ({
      tenant_id: tenantId,
      month,
      slot,
      n: months.filter((other) => other === month).length,
    }));
    return [
      sql`
        insert into token_activity ${sql(rows)}
        on conflict (tenant_id, month, slot) do update set n = token_activity.n + excluded.n`,
    ];
  },
});

/** How many tokens of a type there are, and when the last one was made. */
export interface TypeUsage {
  readonly type: string;
  readonly n: number;
  readonly last_created_at: Date | null;
}

/** By type, without tokens that have expired and are not swept yet. */
export const usageByType = defineStatement<TenantId, readonly TypeUsage[], TypeUsage>({
  table: "token_counts",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId, _inputs, at) => [
    sql`
      select c.type, (sum(c.n) - coalesce(min(e.n), 0))::bigint as n, max(c.last_created_at) as last_created_at
      from token_counts c
      left join (
        select type, count(*) as n from tokens where tenant_id = ${tenantId} and expires_at <= ${at} group by type
      ) e on e.type = c.type
      where c.tenant_id = ${tenantId} group by c.type order by c.type`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows),
});

/** How many tokens were active in a month, given as its first day, YYYY-MM-DD. */
export const activeInMonth = defineStatement<string, number, { readonly month: string; readonly n: number }>({
  table: "token_activity",
  kind: "read",
  sortKey: (month) => month,
  queries: (sql, tenantId, months) => [
    sql`
      select month::text as month, sum(n)::bigint as n from token_activity
      where tenant_id = ${tenantId} and month = any(${[...months]}::date[]) group by month`,
  ],
  answers: ([rows = []], months) => months.map((month) => rows.find((row) => row.month === month)?.n ?? 0),
});
