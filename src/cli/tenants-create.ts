import { recordTenantEvent } from "../audit/vault-log.js";
import { systemClock } from "../base/clock.js";
import { parseEmailAddress } from "../tenancy/email-address.js";
import { provisionTenant } from "../tenancy/provision.js";
import { openVault } from "../vault/vault.js";
import { type Command, requiredText } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { UsageError } from "./usage-error.js";

export const tenantsCreate: Command = {
  summary: "Create a tenant with its owner and a management application, and show the management key once",
  options: { name: { type: "string" }, "owner-email": { type: "string" } },
  help: ["--name N           name of the tenant", "--owner-email E    e-mail address of its owner"],
  async run({ config, options, say, printResult }) {
    const name = requiredText(options, "name");
    const ownerEmail = parseEmailAddress(requiredText(options, "owner-email"));
    if (name.length > 200) throw new UsageError("--name must have at most 200 characters.");
    if (!ownerEmail) throw new UsageError("--owner-email must be an e-mail address.");
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const { tenantId, applicationId, managementKey } = await provisionTenant(vault.database, vault.rootKey, {
      name,
      ownerEmail,
    });
    await recordTenantEvent(vault, "create", tenantId, { remark: operatorName() });
    printResult({ tenant_id: tenantId, application_id: applicationId, key: managementKey.reveal() });
  },
};
