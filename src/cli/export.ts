import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { recordVaultEvent } from "../audit/vault-log.js";
import { systemClock } from "../base/clock.js";
import { newUuid } from "../base/ids.js";
import { exportMac, newExportKey } from "../crypto/vault-export-key.js";
import { ranMigrations } from "../store/migrate.js";
import { connect, type Sql } from "../store/postgres/connect.js";
import { listRootKeys } from "../store/tenancy/root-keys.js";
import { type ExportHeader, FORMAT, headerLine } from "../store/vault-copy/format.js";
import { exportSections } from "../store/vault-copy/write-export.js";
import { openVault, type Vault } from "../vault/vault.js";
import { requireNew, writeNewFile } from "./new-file.js";
import { type Command, requiredText } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { progressOf } from "./progress.js";

export const exportCommand: Command = {
  summary: "Write all stored data to a file, as of one moment; values stay encrypted",
  options: { file: { type: "string" } },
  help: [
    "--file F           a new file. It is useless without the root key, which is not in it: back that up elsewhere",
  ],
  async run({ config, options, say, printResult }) {
    const file = requiredText(options, "file");
    await requireNew(file);
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const event = { entityType: "export", entityId: newUuid(), operation: "create" } as const;
    await recordVaultEvent(vault, { ...event, remark: `all stored data, ${operatorName()}` });
    const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 0 });
    try {
      await writeNewFile(file, (target) =>
        pipeline(fileOf(vault, sql, progressOf(say, "Export", 0, "bytes")), createGzip(), target),
      );
    } finally {
      await sql.end({ timeout: 5 });
    }
    printResult({ file, bytes: (await stat(file)).size, root_key: vault.rootKey.id });
  },
};

async function* fileOf({ rootKey }: Vault, sql: Sql, onProgress: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const { key, wrapped } = await newExportKey(rootKey);
  const mac = exportMac(key);
  const rootKeys = await listRootKeys(sql);
  const header: ExportHeader = {
    format: FORMAT,
    migrations: await ranMigrations(sql),
    root_keys: rootKeys.map(({ id, check_value, retired_at, threshold }) => ({
      ...{ id, check_value: check_value.toString("base64"), retired: retired_at !== null, threshold },
    })),
    key: { root_key_id: rootKey.id, wrapped: wrapped.toString("base64") },
  };
  const line = headerLine(header);
  mac.update(line);
  yield line;
  let bytes = 0;
  for await (const piece of exportSections(sql)) {
    mac.update(piece);
    bytes += piece.length;
    onProgress(bytes);
    yield piece;
  }
  yield Buffer.from(`${JSON.stringify({ mac: mac.digest("hex") })}\n`);
}
