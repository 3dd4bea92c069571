import { systemClock } from "../base/clock.js";
import { openVault, type Vault } from "../vault/vault.js";
import type { CommandInput } from "./operator-command.js";

/** Opens the configured vault for an operator's command. @throws as {@link openVault} does. */
export function openForCommand({ config, say }: Pick<CommandInput, "config" | "say">): Promise<Vault> {
  return openVault({ config, as: "command", announce: say, clock: systemClock });
}
