import { systemClock } from "../base/clock.js";
import { logSigningKey } from "../crypto/log-signing.js";
import { openVault } from "../vault/vault.js";
import { chosenTenants } from "./chosen-tenants.js";
import type { Command } from "./operator-command.js";

export const auditKey: Command = {
  summary: "Show the public keys that sign tenants' logs, for auditors who verify exports",
  options: { tenant: { type: "string" } },
  help: ["--tenant ID        this tenant alone"],
  async run({ config, options, say, printResult }) {
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const shown: Readonly<Record<string, unknown>>[] = [];
    for (const tenantId of await chosenTenants(vault, options)) {
      const { fingerprint, publicKey } = logSigningKey((await vault.keyring.of(tenantId)).audit, tenantId);
      shown.push({ tenant_id: tenantId, fingerprint, algorithm: "Ed25519", public_key: publicKey.toString("base64") });
    }
    printResult(shown);
  },
};
