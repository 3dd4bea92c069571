import { actorOf, type Caller } from "../access/caller.js";
import { requireReasonToStopAsking } from "../access/reveal-reason.js";
import { canGrantAnyPermission } from "../access/role-rights.js";
import { secondFactorRequired } from "../access/second-factor.js";
import { readSettings, type TenantSettings } from "../access/tenant-settings.js";
import { logEntry } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { lockTenant, readTenant, type TenantRow, updateTenantRow } from "../store/tenancy/tenants.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { mergeSettings } from "./settings.js";

export interface Tenant {
  readonly row: TenantRow;
  readonly settings: TenantSettings;
}

/** The caller's own tenant, with its settings. */
export async function getTenant(tx: Transaction, caller: Caller): Promise<Tenant> {
  const row = await tx.query(readTenant, tx.tenantId);
  if (!row) throw notFound("tenant");
  writeLog(tx, logEntry(actorOf(caller), "tenant", tx.tenantId, "read"));
  return { row, settings: readSettings(row.settings) };
}

/**
 * Renames the tenant and merges its settings. Every caller is authorized again, since settings are part of its rights.
 * @throws {Denied} reason_required for switching `require_reveal_reason` off without a reason.
 * @throws {Fault} second_factor_required if a person without one lets people see values in the clear.
 */
export async function updateTenant(
  tx: OrdinaryTransaction,
  caller: Caller,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<Tenant> {
  const row = await lockTenant(tx, tx.tenantId);
  if (!row) throw notFound("tenant");
  const modifiedBy = actorOf(caller).id;
  const before = readSettings(row.settings);
  const merged = mergeSettings(before, settings);
  if (before.require_reveal_reason && !merged.require_reveal_reason) requireReasonToStopAsking(caller);
  if (merged.reveal_to_people && !before.reveal_to_people) requireMayAllowReveal(caller);
  tx.enqueue(updateTenantRow, { name, settings: { ...merged }, modified_by: modifiedBy });
  const remark = remarkOn(before, merged);
  writeLog(tx, logEntry(actorOf(caller), "tenant", tx.tenantId, "update", remark === undefined ? {} : { remark }));
  return { row: { ...row, name, modified_by: modifiedBy, modified_at: tx.now }, settings: merged };
}

/** Settings whose changes the log names: what it records, and whom values may be shown to. */
const NAMED_SETTINGS = ["require_reveal_reason", "record_log_reads", "reveal_to_people"] as const;

function remarkOn(before: TenantSettings, after: TenantSettings): string | undefined {
  const changed = NAMED_SETTINGS.filter((name) => before[name] !== after[name]);
  if (changed.length === 0) return undefined;
  return changed.map((name) => `${name} ${after[name] ? "on" : "off"}`).join(", ");
}

/** Otherwise a stolen sign-in could open the way to values by itself. */
function requireMayAllowReveal(caller: Caller): void {
  if (canGrantAnyPermission(caller)) return;
  throw secondFactorRequired("Allowing people to see values in the clear");
}
