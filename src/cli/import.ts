import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Manifest } from "../backups/manifest.js";
import { openTarget } from "../backups/open-target.js";
import { chosenBackup, readBackup, requireSameTime } from "../backups/stored-backups.js";
import { finishImport, startImport } from "../vault/import-vault.js";
import { openForImport } from "../vault/vault.js";
import { countedBytes } from "./counted-bytes.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { progressReporter } from "./progress.js";
import { UsageError } from "./usage-error.js";

export async function importCommand(input: CommandInput): Promise<void> {
  const { config, say, printResult } = input;
  const source = await importSource(input);
  const started = await startImport(source.bytes);
  if (source.backup) requireSameTime(source.backup, started.header);
  await using opened = await openForImport(config, started.header.migrations, say);
  const { rows } = await finishImport(started, opened, say);
  printResult({ file: source.name, tenants: rows.tenants ?? 0, root_key: started.header.key.root_key_id });
}

interface Source {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Absent: a file of its own. */
  readonly backup?: Manifest;
}

async function importSource({ config, options, say }: CommandInput): Promise<Source> {
  if (options.from === undefined) {
    const file = requiredText(options, "file");
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) throw new UsageError(`--file ${file} cannot be read.`);
    return {
      name: file,
      bytes: countedBytes(createReadStream(file), progressReporter(say, "Import", found.size, "bytes")),
    };
  }
  if (options.file !== undefined) throw new UsageError("Give --file or --from, not both.");
  const target = openTarget(requiredText(options, "from"), config.buckets);
  const backup = await chosenBackup(target, options.backup);
  const bytes = countedBytes(readBackup(target, backup), progressReporter(say, "Import", backup.bytes, "bytes"));
  return { name: backup.name, bytes, backup };
}
