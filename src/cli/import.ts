import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { exportMac, openExportKey } from "../crypto/export-key.js";
import { RootKeyRefused } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import { ShareError } from "../crypto/shares.js";
import { ranMigrations } from "../store/migrate.js";
import { connectOnce } from "../store/one-connection.js";
import { damaged, ExportFileError, type ExportHeader, isIntact, readHeader } from "../store/vault-copy/format.js";
import { importSections } from "../store/vault-copy/read-export.js";
import { Unpacked } from "../store/vault-copy/unpacked.js";
import { registeredKey } from "../vault/open-root-key.js";
import { sharesOnInput } from "../vault/unsealing.js";
import { openWithoutRootKey } from "../vault/vault.js";
import { type Command, type CommandInput, requiredText, UsageError } from "./command.js";
import { progressOf } from "./progress.js";

export const importCommand: Command = {
  summary: "Put an export into an empty database, all of it or nothing; the root key must be at hand",
  options: { file: { type: "string" } },
  help: [
    "--file F           what export wrote",
    "",
    "The root key is taken from its file or service; where it is in shares, they are read from standard input.",
  ],
  async run({ config, options, say, answer }) {
    const file = requiredText(options, "file");
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) throw new UsageError(`--file ${file} cannot be read.`);
    const unpacked = new Unpacked(unpack(file, progressOf(say, "Import", found.size, "bytes")));
    const line = await unpacked.line();
    const header = readHeader(line.toString());
    await using opened = await openWithoutRootKey(config, say);
    // Also for its sockets: over TCP the client's own hold each section's end back until what was sent is acknowledged.
    const connection = connectOnce(opened.ownerAddress, { statementTimeout: 0 });
    const { sql } = connection;
    try {
      const intact = isIntact(line.toString());
      const ours = await ranMigrations(sql);
      const isBroken = async () => intact !== true && !(await unpacked.isWhole());
      await unlessDamaged(isBroken, async () => requireSame(ours, header.migrations));
      const { key, split } = await unlessDamaged(
        async () => intact === false || isBroken(),
        () => fileKey(opened.rootKeys, header, say),
      );
      const mac = exportMac(key);
      mac.update(line);
      await importSections(sql, unpacked, mac, split);
      const [count] = await sql<{ tenants: number }[]>`select count(*) as tenants from tenants`;
      answer({ file, tenants: count?.tenants ?? 0, root_key: header.key.root_key_id });
    } finally {
      await connection.end(5);
    }
  },
};

/**
 * Checks what a header says. A damaged header may name any root key or release: where a check fails, the file is looked over
 * before that is told.
 * @throws {ExportFileError} for a damaged file; else what `check` throws.
 */
async function unlessDamaged<T>(isDamaged: () => Promise<boolean>, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    // Shares that were not given are asked for whatever the file is like.
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
 * The root key at hand must be the one of the export, before anything is written. It may have been split after the export
 * was made: shares are taken wherever its file is missing.
 * @returns the key of the file, and the root keys that shares brought back, with how many it took.
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
      for (const { id } of needed)
        say(`The root key ${id} is in no file here: its shares are read from standard input.`);
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
    throw new ExportFileError(`The export is of a newer release: this one lacks ${missing.join(", ")}.`);
  }
  if (more.length > 0) {
    throw new ExportFileError(
      `The export is of an older release, without ${more.join(", ")}. Import it with that one, then upgrade.`,
    );
  }
}
