import { openTarget } from "../backups/open-target.js";
import { removeExpired } from "../backups/retention.js";
import { takeBackup } from "../backups/take-backup.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { progressReporter } from "./progress.js";
import { wholeOption } from "./whole-option.js";

export async function backupCommand({ config, options, say, printResult }: CommandInput): Promise<void> {
  const retention = {
    keep: wholeOption(options, "keep", [1, 100_000]),
    keepDays: wholeOption(options, "keep-days", [1, 36_500]),
  };
  const target = openTarget(requiredText(options, "to"), config.buckets);
  await using vault = await openForCommand({ config, say });
  const onProgress = progressReporter(say, "Backup", 0, "bytes");
  const taken = await takeBackup(vault, target, { by: operatorName(), onProgress });
  const removed = await removeExpired(target, taken, retention);
  printResult({
    backup: taken.name,
    to: target.name,
    taken_at: taken.taken_at,
    bytes: taken.bytes,
    sha256: taken.sha256,
    root_key: `${vault.rootKey.id}, which is not in the backup: keep it elsewhere`,
    ...(removed.length > 0 ? { removed } : {}),
  });
}
