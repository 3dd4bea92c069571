import { initVault } from "../vault/prepare-vault.js";
import type { CommandInput } from "./operator-command.js";

export async function init({ config, say, printResult }: CommandInput): Promise<void> {
  const { id } = await initVault(config, say);
  const { rootKeyHolder: holder } = config;
  printResult({ ready: true, root_key: id, ...(holder.kind === "file" ? { root_key_file: holder.path } : {}) });
}
