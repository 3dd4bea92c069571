import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import type { RootKey } from "../crypto/root-key.js";
import { exportMac, newExportKey } from "../crypto/vault-export-key.js";
import { connectOnce } from "../store/postgres/one-connection.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import { type ExportHeader, FORMAT, headerLine } from "../store/vault-copy/format.js";
import type { RowCounts } from "../store/vault-copy/read-export.js";
import { beginSnapshot, type StoreSnapshot, snapshotSections } from "../store/vault-copy/write-export.js";
import type { Vault } from "./vault.js";

export interface OpenExport {
  readonly snapshot: StoreSnapshot;
  /** The compressed file, once. It fails if the snapshot is lost: what was read until then is no export. */
  readonly file: AsyncIterable<Uint8Array>;
  /** The rows of each table that were read so far. */
  readonly rows: RowCounts;
}

/**
 * Exports all stored data as of one moment.
 * @param onProgress called with the bytes before compression.
 * @param use reads the file to its end.
 */
export async function exportVault<T>(
  { ownerAddress, rootKey }: Pick<Vault, "ownerAddress" | "rootKey">,
  onProgress: (bytes: number) => void,
  use: (open: OpenExport) => Promise<T>,
): Promise<T> {
  const connection = connectOnce(ownerAddress, { statementTimeout: 0 });
  try {
    const { sql } = connection;
    const snapshot = await beginSnapshot(sql);
    requireWrapping(snapshot, rootKey);
    const rows: Record<string, number> = {};
    const sections = snapshotSections(sql, snapshot, (table, piece) => {
      rows[table] = (rows[table] ?? 0) + countLines(piece);
    });
    const gzip = createGzip();
    // Errors of the pieces arrive where the file is read.
    pipeline(Readable.from(piecesOf(snapshot, rootKey, sections, onProgress)), gzip, () => {});
    return await use({ snapshot, file: gzip, rows });
  } finally {
    await connection.end(5);
  }
}

/** Otherwise the export's own key would be wrapped by a root key that a restore does not look for. */
function requireWrapping({ rootKeys }: StoreSnapshot, { id }: RootKey): void {
  if (rootKeys.some((row) => row.id === id && row.retired_at === null)) return;
  throw new DatabaseSetupError("The root key was rotated while this command started. Run it again.");
}

async function* piecesOf(
  { takenAt, migrations, logPartitions, rootKeys }: StoreSnapshot,
  rootKey: RootKey,
  sections: AsyncIterable<Uint8Array>,
  onProgress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const { key, wrapped } = await newExportKey(rootKey);
  const mac = exportMac(key);
  const header: Omit<ExportHeader, "sha256"> = {
    format: FORMAT,
    taken_at: takenAt.toISOString(),
    migrations,
    log_partitions: logPartitions,
    root_keys: rootKeys.map(({ id, check_value, retired_at, threshold }) => ({
      id,
      check_value: check_value.toString("base64"),
      retired: retired_at !== null,
      threshold,
    })),
    key: { root_key_id: rootKey.id, wrapped: wrapped.toString("base64") },
  };
  const line = headerLine(header);
  mac.update(line);
  yield line;
  let bytes = 0;
  for await (const piece of sections) {
    mac.update(piece);
    bytes += piece.length;
    onProgress(bytes);
    yield piece;
  }
  yield Buffer.from(`${JSON.stringify({ mac: mac.digest("hex") })}\n`);
}

/** COPY writes a row as a line: a newline within a value is escaped. */
function countLines(piece: Uint8Array): number {
  let count = 0;
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) count += 1;
  return count;
}
