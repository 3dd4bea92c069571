import { migrateVault } from "../vault/prepare-vault.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";

export async function migrateCommand({ config, say, printResult }: CommandInput): Promise<void> {
  if (!config.databaseUrl) {
    // The embedded database is migrated whenever it is opened.
    await using vault = await openForCommand({ config, say });
    printResult({ applied: vault.migrated });
    return;
  }
  printResult({ applied: await migrateVault(config, say) });
}
