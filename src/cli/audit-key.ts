import { logSigningKey } from "../crypto/log-signing.js";
import { chosenTenants } from "./chosen-tenants.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";

export async function auditKey({ config, options, say, printResult }: CommandInput): Promise<void> {
  await using vault = await openForCommand({ config, say });
  const shown: Readonly<Record<string, unknown>>[] = [];
  for (const tenantId of await chosenTenants(vault, options)) {
    const { fingerprint, publicKey } = logSigningKey((await vault.keyring.of(tenantId)).audit, tenantId);
    shown.push({ tenant_id: tenantId, fingerprint, algorithm: "Ed25519", public_key: publicKey.toString("base64") });
  }
  printResult(shown);
}
