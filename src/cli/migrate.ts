import { systemClock } from "../base/clock.js";
import { migrateVault } from "../vault/prepare-vault.js";
import { openVault } from "../vault/vault.js";
import type { CommandInput } from "./operator-command.js";

export async function migrateCommand({ config, say, printResult }: CommandInput): Promise<void> {
  if (!config.databaseUrl) {
    // The embedded database is migrated whenever it is opened.
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    printResult({ applied: vault.migrated });
    return;
  }
  printResult({ applied: await migrateVault(config, say) });
}
