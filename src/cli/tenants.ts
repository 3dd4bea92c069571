import { recordTenantEvent } from "../audit/chain/vault-log.js";
import { isTenantId } from "../base/ids.js";
import { soleConnection } from "../store/postgres/connect.js";
import { parseEmailAddress } from "../tenancy/email-address.js";
import { setIncludedMonthlyTokens, stopAskingForApproval } from "../tenancy/plan.js";
import { provisionTenant } from "../tenancy/provision.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { UsageError } from "./usage-error.js";

export async function tenantsList({ config, say, printResult }: CommandInput): Promise<void> {
  await using vault = await openForCommand({ config, say });
  await using sql = soleConnection(vault.ownerAddress);
  const rows = await sql<{ tenant_id: string; name: string; state: string; created_at: Date }[]>`
    select tenant_id, name, state, created_at from tenants order by created_at, tenant_id`;
  printResult(rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() })));
}

export async function tenantsCreate({ config, options, say, printResult }: CommandInput): Promise<void> {
  const name = requiredText(options, "name");
  const ownerEmail = parseEmailAddress(requiredText(options, "owner-email"));
  if (name.length > 200) throw new UsageError("--name must have at most 200 characters.");
  if (!ownerEmail) throw new UsageError("--owner-email must be an e-mail address.");
  await using vault = await openForCommand({ config, say });
  const { tenantId, applicationId, managementKey } = await provisionTenant(vault, {
    name,
    ownerEmail,
  });
  await recordTenantEvent(vault, "create", tenantId, { remark: operatorName() });
  printResult({ tenant_id: tenantId, application_id: applicationId, key: managementKey.reveal() });
}

const MAX_INCLUDED = 1_000_000_000_000;

export async function tenantsUpdate({ config, options, say, printResult }: CommandInput): Promise<void> {
  const id = requiredText(options, "id").toLowerCase();
  if (!isTenantId(id)) throw new UsageError("--id must be the UUID of a tenant.");
  const given = options["included-monthly-active-tokens"];
  const stops = options["stop-export-approval"] === true;
  if (given === undefined && !stops) throw new UsageError("Say what to change: run cloakroom tenants update --help");
  const included =
    given === undefined ? undefined : readIncluded(requiredText(options, "included-monthly-active-tokens"));
  await using vault = await openForCommand({ config, say });
  const isThere = await vault.database.of(id).ordinary(async (tx) => {
    if (included !== undefined && !(await setIncludedMonthlyTokens(tx, included))) return false;
    return !stops || (await stopAskingForApproval(tx));
  });
  if (!isThere) throw new UsageError("There is no such tenant. Run: cloakroom tenants list");
  printResult({
    tenant_id: id,
    ...(included === undefined ? {} : { included_monthly_active_tokens: included ?? 0 }),
    ...(stops ? { require_export_approval: false } : {}),
  });
}

function readIncluded(text: string): number | null {
  if (text === "default") return null;
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= MAX_INCLUDED) return number;
  throw new UsageError(`--included-monthly-active-tokens must be a whole number up to ${MAX_INCLUDED}, or default.`);
}
