import { OPERATOR_CONTEXT } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { setIncludedTokens, stopExportApproval } from "../store/tenancy/tenants.js";
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

/** Switches the setting require_export_approval off, which no member of the tenant may. Returns whether the tenant exists. */
export async function stopAskingForApproval(tx: Transaction): Promise<boolean> {
  const isThere = await tx.query(stopExportApproval, "once");
  const details = { remark: "require_export_approval off", context: OPERATOR_CONTEXT };
  if (isThere) writeLog(tx, logEntry("tenant", tx.tenantId, "update", details));
  return isThere;
}
