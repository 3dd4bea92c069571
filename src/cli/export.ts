import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { recordVaultEvent } from "../audit/chain/vault-log.js";
import { newUuid } from "../base/ids.js";
import { exportVault } from "../vault/export-vault.js";
import { requireNew, writeNewFile } from "./new-file.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { progressReporter } from "./progress.js";

export async function exportCommand({ config, options, say, printResult }: CommandInput): Promise<void> {
  const file = requiredText(options, "file");
  await requireNew(file);
  await using vault = await openForCommand({ config, say });
  const event = { entityType: "export", entityId: newUuid(), operation: "create" } as const;
  await recordVaultEvent(vault, { ...event, remark: `all stored data, ${operatorName()}` });
  await exportVault(vault, progressReporter(say, "Export", 0, "bytes"), (exported) =>
    writeNewFile(file, (target) => pipeline(exported.file, target)),
  );
  printResult({ file, bytes: (await stat(file)).size, root_key: vault.rootKey.id });
}
