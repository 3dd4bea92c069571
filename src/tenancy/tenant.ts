import { actorOf, type Caller } from "../access/caller.js";
import { Refused } from "../access/refusal.js";
import { readSettings, type TenantSettings } from "../access/tenant-settings.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault, notFound } from "../base/fault.js";
import { writeLog } from "../store/audit-logs.js";
import { readTenant, type TenantRow, updateTenant } from "../store/tenants.js";
import type { Transaction } from "../store/transaction.js";
import { mergeSettings } from "./settings.js";

export interface Tenant {
  readonly row: TenantRow;
  readonly settings: TenantSettings;
}

/** The caller's own tenant, with its settings. */
export async function getTenant(tx: Transaction, caller: Caller): Promise<Tenant | Refused> {
  const row = await tx.ask(readTenant, tx.tenantId);
  if (!row) return new Refused(notFound("tenant"));
  writeLog(tx, logEntry(actorOf(caller), "tenant", tx.tenantId, "read"));
  return { row, settings: readSettings(row.settings) };
}

/** Two changes at once: the second starts over from what the first left. */
const TRIES = 5;

/** Renames the tenant and merges its settings. Every caller is authorized anew, since settings are part of its rights. */
export async function changeTenant(
  tx: Transaction,
  caller: Caller,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<Tenant | Refused> {
  const modifiedBy = caller.application.id;
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const row = await tx.ask(readTenant, tx.tenantId);
    if (!row) return new Refused(notFound("tenant"));
    const merged = mergeSettings(readSettings(row.settings), settings);
    const change = { name, settings: { ...merged }, modified_by: modifiedBy, auth_revision: row.auth_revision };
    if (!(await tx.ask(updateTenant, change))) continue;
    writeLog(tx, logEntry(actorOf(caller), "tenant", tx.tenantId, "update"));
    return { row: { ...row, name, modified_by: modifiedBy, modified_at: tx.now }, settings: merged };
  }
  return new Refused(new Fault("conflict", "The tenant keeps being changed. Try again."));
}
