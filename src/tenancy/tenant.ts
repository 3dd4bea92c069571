import { type Caller, loggedActor } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { requirePower } from "../access/power.js";
import { requireReasonToStopAsking } from "../access/reveal-reason.js";
import { readSettings, type TenantSettings } from "../access/tenant-settings.js";
import { changesBetween } from "../audit/log-changes.js";
import { Fault, notFound } from "../base/fault.js";
import { lockTenant, readTenant, type TenantRow, updateTenantRow } from "../store/tenancy/tenants.js";
import { mergeSettings } from "./settings.js";
import { hasSecondPerson } from "./settled-members.js";

export interface Tenant {
  readonly row: TenantRow;
  readonly settings: TenantSettings;
}

export async function getTenant(tx: CallerTransaction): Promise<Tenant> {
  const row = await tx.query(readTenant, tx.tenantId);
  if (!row) throw notFound("tenant");
  tx.log("tenant", tx.tenantId, "read");
  return { row, settings: readSettings(row.settings) };
}

/**
 * Every caller is authorized again, since settings are part of its rights.
 * @throws {Denied} reason_required for switching `require_reveal_reason` off without a reason.
 * @throws {Fault} second_factor_required if a person without one switches a setting of LOOSENED, or asks for approval of
 *   exports; unprocessable if no other person could approve them.
 */
export async function updateTenant(
  tx: OrdinaryCallerTransaction,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<Tenant> {
  const row = await lockTenant(tx, tx.tenantId);
  if (!row) throw notFound("tenant");
  const modifiedBy = loggedActor(tx.caller).id;
  const before = readSettings(row.settings);
  const merged = mergeSettings(before, settings);
  if (before.require_reveal_reason && !merged.require_reveal_reason) requireReasonToStopAsking(tx.caller);
  if (before.require_export_approval && !merged.require_export_approval) throw onlyOperatorsStopAsking();
  if (!before.require_export_approval && merged.require_export_approval) await requireMayAskForApproval(tx);
  requireMayLoosen(tx.caller, before, merged);
  tx.enqueue(updateTenantRow, { name, settings: { ...merged }, modified_by: modifiedBy });
  const remark = remarkOn(before, merged);
  const changes = changesBetween({ name: row.name, ...before }, { name, ...merged });
  tx.log("tenant", tx.tenantId, "update", { remark, changes });
  return { row: { ...row, name, modified_by: modifiedBy, modified_at: tx.now }, settings: merged };
}

/** Settings whose changes the log names: what it records, and whom values may be shown to. */
const NAMED_SETTINGS = [
  "require_reveal_reason",
  "record_log_reads",
  "reveal_to_people",
  "require_export_approval",
] as const;

function remarkOn(before: TenantSettings, after: TenantSettings): string | undefined {
  const changed = NAMED_SETTINGS.filter((name) => before[name] !== after[name]);
  if (changed.length === 0) return undefined;
  return changed.map((name) => `${name} ${after[name] ? "on" : "off"}`).join(", ");
}

/** Otherwise a key could keep a tenant from exporting, and an OWNER without others could lock the tenant out. */
async function requireMayAskForApproval(tx: CallerTransaction): Promise<void> {
  const act = "switch require_export_approval on";
  if (tx.caller.principal.kind === "application") {
    throw new Fault("permission_denied", `No key may ${act}; the OWNER who is signed in may, with a second factor.`);
  }
  requirePower(tx.caller, { needs: ["own"], doing: "Switching require_export_approval on", act });
  if (await hasSecondPerson(tx)) return;
  const text = "Nobody but you could approve exports. Invite an ADMIN: a new member may approve after 24 hours.";
  throw new Fault("unprocessable", text);
}

/** Otherwise one person could switch it off, export alone and switch it on again. */
function onlyOperatorsStopAsking(): Fault {
  const command = "cloakroom tenants update --id ID --stop-export-approval";
  return new Fault("permission_denied", `Only an operator switches require_export_approval off: ${command}.`);
}

/**
 * Settings with the value that shows values, lets callers confirm guesses of them, lets every key with `token:use` send them
 * anywhere, or hides who reads the log.
 */
const LOOSENED = [
  ["reveal_to_people", true],
  ["fingerprint_tokens", true],
  ["deduplicate_tokens", true],
  ["disable_ephemeral_proxy", false],
  ["record_log_reads", false],
] as const;

/** Otherwise a stolen sign-in could open the way to values by itself. Keys need their permission alone. */
function requireMayLoosen(caller: Caller, before: TenantSettings, after: TenantSettings): void {
  if (caller.principal.kind === "application") return;
  for (const [name, loose] of LOOSENED) {
    if (before[name] === after[name] || after[name] !== loose) continue;
    const act = `${name} ${loose ? "on" : "off"}`;
    requirePower(caller, { needs: ["administer"], doing: `Switching ${act}`, act: `switch ${act}` });
  }
}
