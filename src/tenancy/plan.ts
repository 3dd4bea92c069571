import { OPERATOR_CONTEXT } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { setIncludedTokens } from "../store/tenancy/tenants.js";
import type { Transaction } from "../store/transactions/transaction.js";

/**
 * Sets how many monthly active tokens the tenant's plan includes; null uses the configured number. Returns whether the
 * tenant exists.
 */
export async function setIncludedMonthlyTokens(tx: Transaction, included: number | null): Promise<boolean> {
  const isThere = await tx.query(setIncludedTokens, included);
  if (isThere) writeLog(tx, logEntry("tenant", tx.tenantId, "update", { remark: "plan", context: OPERATOR_CONTEXT }));
  return isThere;
}
