import { initVault } from "../vault/prepare-vault.js";
import type { Command } from "./operator-command.js";

export const init: Command = {
  summary: "Set up the database (embedded unless DATABASE_URL is set): schema, roles and root key",
  options: {},
  help: [],
  async run({ config, say, printResult }) {
    const { id } = await initVault(config, say);
    const { rootKeyHolder: holder } = config;
    printResult({ ready: true, root_key: id, ...(holder.kind === "file" ? { root_key_file: holder.path } : {}) });
  },
};
