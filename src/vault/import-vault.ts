import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { type RootKey, RootKeyRefused } from "../crypto/root-key.js";
import type { RootKeys } from "../crypto/root-keys.js";
import { exportMac, openExportKey } from "../crypto/vault-export-key.js";
import { migrate } from "../store/migrate.js";
import { ranMigrations } from "../store/migration-ledger.js";
import { connectOnce } from "../store/postgres/one-connection.js";
import { ExportReader } from "../store/vault-copy/export-reader.js";
import { damaged, ExportFileError, type ExportHeader, readHeader } from "../store/vault-copy/format.js";
import { importSections, type RowCounts } from "../store/vault-copy/read-export.js";
import { registeredKey } from "./open-root-key.js";
import { sharesOnInput, type UnsealedKey } from "./unsealing.js";
import type { UnverifiedDatabase } from "./vault.js";

export interface StartedImport {
  readonly header: ExportHeader;
  readonly line: Buffer;
  readonly reader: ExportReader;
}

/** @throws {ExportFileError} if it is no export of this or an older release. */
export async function startImport(compressed: AsyncIterable<Uint8Array>): Promise<StartedImport> {
  const gunzip = createGunzip();
  // Errors of the source arrive where the decompressed bytes are read.
  pipeline(Readable.from(compressed), gunzip, () => {});
  const reader = new ExportReader(gunzip);
  const line = await reader.line();
  return { header: readHeader(line.toString()), line, reader };
}

export interface FinishedImport {
  /** The rows that the database then has. */
  readonly rows: RowCounts;
  /** The root keys that were restored from shares. */
  readonly unsealed: readonly RootKey[];
}

/**
 * Imports all rows into an empty database with the schema of the export, or none, and then brings the schema up to date.
 * @throws {ExportFileError} if the file is damaged or does not fit the database; the message is for the operator.
 */
export async function finishImport(
  { header, line, reader }: StartedImport,
  { ownerAddress, rootKeys, logins }: UnverifiedDatabase,
  say: (line: string) => void,
): Promise<FinishedImport> {
  // Used for its sockets: over TCP the client's own sockets delay each section's end until the sent data is
  // acknowledged.
  const connection = connectOnce(ownerAddress, { statementTimeout: 0 });
  const { sql } = connection;
  try {
    requireSame(await ranMigrations(sql), header.migrations);
    const { key, unsealed } = await fileKey(rootKeys, header, say);
    const mac = exportMac(key);
    mac.update(line);
    const split = new Map(unsealed.map(({ key: { id }, threshold }) => [id, threshold]));
    const rows = await importSections(sql, reader, mac, { split, logPartitions: header.log_partitions });
    for (const name of await migrate(ownerAddress, { logins })) say(`Applied migration ${name}`);
    return { rows, unsealed: unsealed.map((each) => each.key) };
  } finally {
    await connection.end(5);
  }
}

/**
 * Checks before any write that the available root key is the export's. The key may have been split after the export, so
 * shares are read if its file is missing.
 */
async function fileKey(rootKeys: RootKeys, { root_keys, key }: ExportHeader, say: (line: string) => void) {
  const registered = root_keys.map(({ id, check_value, retired, threshold }) => ({
    id,
    check_value: Buffer.from(check_value, "base64"),
    threshold,
    retired_at: retired ? new Date(0) : null,
  }));
  const unsealed: UnsealedKey[] = [];
  await registeredKey(registered, {
    rootKeys,
    mayBeSplit: true,
    async unseal(needed) {
      for (const { id } of needed) say(`No file has the root key ${id}: its shares are read from standard input.`);
      unsealed.push(...(await sharesOnInput(needed)));
      return unsealed;
    },
  });
  const root = await rootKeys.find(key.root_key_id);
  if (!root) throw damaged();
  try {
    return { key: await openExportKey(root, Buffer.from(key.wrapped, "base64")), unsealed };
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
      `The export is from an older release, without ${more.join(", ")}. Import it into a new database, which gets the schema of the export first.`,
    );
  }
}
