import { recordTenantEvent } from "../audit/chain/vault-log.js";
import { parseEmailAddress } from "../tenancy/email-address.js";
import { provisionTenant } from "../tenancy/provision.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { UsageError } from "./usage-error.js";

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
