import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { RootKeyRefused } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import { ShareError } from "../crypto/shares.js";
import { exportMac, openExportKey } from "../crypto/vault-export-key.js";
import { ranMigrations } from "../store/migrate.js";
import { connectOnce } from "../store/postgres/one-connection.js";
import { ExportReader } from "../store/vault-copy/export-reader.js";
import { damaged, ExportFileError, type ExportHeader, isIntact, readHeader } from "../store/vault-copy/format.js";
import { importSections } from "../store/vault-copy/read-export.js";
import { registeredKey } from "../vault/open-root-key.js";
import { sharesOnInput } from "../vault/unsealing.js";
import { openWithoutRootKey } from "../vault/vault.js";
import { type Command, type CommandInput, requiredText } from "./operator-command.js";
import { progressOf } from "./progress.js";
import { UsageError } from "./usage-error.js";

export const importCommand: Command = {
  summary: "Load an export into an empty database, atomically; the root key must be available",
  options: { file: { type: "string" } },
  help: [
    "--file F           the output of export",
    "",
    "The root key comes from its file or service; if it was split, its shares are read from standard input.",
  ],
  async run({ config, options, say, printResult }) {
    const file = requiredText(options, "file");
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) throw new UsageError(`--file ${file} cannot be read.`);
    const reader = new ExportReader(unpack(file, progressOf(say, "Import", found.size, "bytes")));
    const line = await reader.line();
    const header = readHeader(line.toString());
    await using opened = await openWithoutRootKey(config, say);
    // Used for its sockets: over TCP the client's own sockets delay each section's end until the sent data is
    // acknowledged.
    const connection = connectOnce(opened.ownerAddress, { statementTimeout: 0 });
    const { sql } = connection;
    try {
      const intact = isIntact(line.toString());
      const ours = await ranMigrations(sql);
      const isBroken = async () => intact !== true && !(await reader.isWhole());
      await unlessDamaged(isBroken, async () => requireSame(ours, header.migrations));
      const { key, split } = await unlessDamaged(
        async () => intact === false || isBroken(),
        () => fileKey(opened.rootKeys, header, say),
      );
      const mac = exportMac(key);
      mac.update(line);
      await importSections(sql, reader, mac, split);
      const [count] = await sql<{ tenants: number }[]>`select count(*) as tenants from tenants`;
      printResult({ file, tenants: count?.tenants ?? 0, root_key: header.key.root_key_id });
    } finally {
      await connection.end(5);
    }
  },
};

/**
 * Checks a header. A damaged header may name any root key or release, so after a failed check the file is checked for
 * damage before the error is reported.
 * @throws {ExportFileError} for a damaged file; otherwise the error of `check`.
 */
async function unlessDamaged<T>(isDamaged: () => Promise<boolean>, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    // Missing shares are reported even if the file is damaged.
    if (error instanceof ShareError) throw error;
    throw (await isDamaged()) ? damaged() : error;
  }
}

async function* unpack(file: string, onProgress: (bytes: number) => void): AsyncGenerator<Buffer> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  source.on("error", (error) => gunzip.destroy(error));
  for await (const piece of source.pipe(gunzip)) {
    onProgress(source.bytesRead);
    yield piece;
  }
}

/**
 * Checks before any write that the available root key is the export's. The key may have been split after the export, so
 * shares are read if its file is missing.
 * @returns the key of the file, the root keys restored from shares, and the number of shares each took.
 */
async function fileKey(rootKeys: RootKeys, { root_keys, key }: ExportHeader, say: CommandInput["say"]) {
  const registered = root_keys.map(({ id, check_value, retired, threshold = null }) => ({
    ...{ id, check_value: Buffer.from(check_value, "base64"), threshold },
    retired_at: retired ? new Date(0) : null,
  }));
  const split = new Map<string, number>();
  await registeredKey(registered, {
    rootKeys,
    mayBeSplit: true,
    async unseal(needed) {
      for (const { id } of needed) say(`No file has the root key ${id}: its shares are read from standard input.`);
      const unsealed = await sharesOnInput(needed);
      for (const { key: found, threshold } of unsealed) split.set(found.id, threshold);
      return unsealed;
    },
  });
  const root = await rootKeys.find(key.root_key_id);
  if (!root) throw damaged();
  try {
    return { key: await openExportKey(root, Buffer.from(key.wrapped, "base64")), split };
  } catch (error) {
    throw error instanceof RootKeyRefused ? damaged() : error;
  }
}

function requireSame(ours: readonly string[], theirs: readonly string[]): void {
  const missing = theirs.filter((name) => !ours.includes(name));
  const more = ours.filter((name) => !theirs.includes(name));
  if (missing.length > 0) {
    throw new ExportFileError(`The export is from a newer release: this one lacks ${missing.join(", ")}.`);
  }
  if (more.length > 0) {
    throw new ExportFileError(
      `The export is from an older release, without ${more.join(", ")}. Import it with that one, then upgrade.`,
    );
  }
}
