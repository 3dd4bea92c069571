import type { CallerTransaction } from "../access/caller-transaction.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import { firstOfMonth } from "../base/month.js";
import { readTenant } from "../store/tenancy/tenants.js";
import { activeByMonth, type MonthlyActive, type TypeUsage, usageByType } from "../store/tokens/token-counts.js";

export interface Usage {
  readonly byType: readonly TypeUsage[];
  /** Tokens created, read or used in a month: the last ones with any, oldest first. */
  readonly byMonth: readonly MonthlyActive[];
  /** Those of the current month. */
  readonly monthlyActive: number;
  /** From the tenant's plan; undefined: the configured number. */
  readonly included: number | undefined;
}

/** Months of a report: the current one, and the year before it. */
const MONTHS = 13;

/** Reads the counters that the tenant's own transactions maintain: exact, at the same cost for any size. */
export async function readUsage(tx: CallerTransaction): Promise<Usage> {
  const since = firstOfMonth(new Date(Date.UTC(tx.now.getUTCFullYear(), tx.now.getUTCMonth() - MONTHS + 1, 1)));
  const [tenant, byType, byMonth] = await Promise.all([
    tx.query(readTenant, tx.tenantId),
    tx.query(usageByType, tx.tenantId),
    tx.query(activeByMonth, since),
  ]);
  if (!tenant) throw notFound("tenant");
  tx.log("report", ANY_ENTITY_ID, "read");
  return {
    byType: byType.filter(({ n, last_created_at }) => n > 0 || last_created_at !== null),
    byMonth,
    monthlyActive: byMonth.find(({ month }) => month === firstOfMonth(tx.now))?.n ?? 0,
    included: tenant.included_monthly_active_tokens ?? undefined,
  };
}
