import type { CallerTransaction } from "../access/caller-transaction.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import { monthOf } from "../base/month.js";
import { readTenant } from "../store/tenancy/tenants.js";
import { activeInMonth, type TypeUsage, usageByType } from "../store/tokens/token-counts.js";

/** A tenant's resources and their use. */
export interface Usage {
  readonly byType: readonly TypeUsage[];
  /** Tokens created, read or used in the current month. */
  readonly monthlyActive: number;
  /** From the tenant's plan; undefined: the configured number. */
  readonly included: number | undefined;
}

/** Reads the counters that the tenant's own transactions maintain: exact, at the same cost for any size. */
export async function readUsage(tx: CallerTransaction): Promise<Usage> {
  const [tenant, byType, monthlyActive] = await Promise.all([
    tx.query(readTenant, tx.tenantId),
    tx.query(usageByType, tx.tenantId),
    tx.query(activeInMonth, monthOf(tx.now)),
  ]);
  if (!tenant) throw notFound("tenant");
  tx.log("report", ANY_ENTITY_ID, "read");
  return {
    byType: byType.filter(({ n, last_created_at }) => n > 0 || last_created_at !== null),
    monthlyActive,
    included: tenant.included_monthly_active_tokens ?? undefined,
  };
}
