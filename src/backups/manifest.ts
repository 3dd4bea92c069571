import { isRecord, isTexts } from "../base/json.js";
import type { RowCounts } from "../store/vault-copy/read-export.js";
import { BackupError } from "./backup-error.js";

const FORMAT = "cloakroom-backup-1";

/** Describes a backup, in a file beside it. Nothing in it is secret, and nothing in it is trusted: the export has a MAC. */
export interface Manifest {
  readonly format: typeof FORMAT;
  /** Of the backup's files, without their endings. */
  readonly name: string;
  /** The fingerprint of the vault's own log. Several vaults may share a directory or bucket. */
  readonly vault: string;
  /** By the database's clock, ISO 8601. */
  readonly taken_at: string;
  /** The end of the database's log of changes (LSN) just after that moment. */
  readonly position: string;
  readonly server_version: string;
  readonly postgres_version: string;
  /** The schema: the migrations that had run. */
  readonly migrations: readonly string[];
  /** The ids of the root keys that it takes to read the backup. The keys themselves are in no backup. */
  readonly root_keys: readonly string[];
  readonly rows: RowCounts;
  readonly bytes: number;
  /** Of the export, in hexadecimal. */
  readonly sha256: string;
}

export const EXPORT_ENDING = ".export";
export const MANIFEST_ENDING = ".json";
/** Ends with random digits: two backups of one second have names of their own. */
const NAME = /^cloakroom-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{8}/;

export function manifestLine(manifest: Omit<Manifest, "format">): Buffer {
  return Buffer.from(`${JSON.stringify({ format: FORMAT, ...manifest }, undefined, 2)}\n`);
}

/** Names sort by time. */
export function backupName(takenAt: Date, random: string): string {
  return `cloakroom-${takenAt.toISOString().replace(/\.\d+|[-:]/g, "")}-${random.slice(0, 8)}`;
}

/** When a file of a backup was begun, by its name. Undefined for other files. */
export function timeInName(file: string): Date | undefined {
  const [, year, month, day, hour, minute, second] = NAME.exec(file) ?? [];
  return year === undefined ? undefined : new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

export function nameInManifestFile(file: string): string | undefined {
  const name = file.endsWith(MANIFEST_ENDING) ? file.slice(0, -MANIFEST_ENDING.length) : "";
  return NAME.exec(name)?.[0] === name ? name : undefined;
}

/**
 * @param name that the manifest must state.
 * @throws {BackupError}
 */
export function readBackupManifest(text: string, name: string): Manifest {
  const read = parsed(text);
  if (!isManifest(read) || read.name !== name) {
    throw new BackupError(
      `${name}${MANIFEST_ENDING} is damaged, or was written by a newer release. Use another backup.`,
    );
  }
  return read;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value)) return false;
  const { format, rows, bytes, sha256, migrations, root_keys, taken_at } = value;
  const texts = [value.name, value.vault, value.position, value.server_version, value.postgres_version, taken_at];
  return (
    format === FORMAT &&
    texts.every((each) => typeof each === "string") &&
    typeof taken_at === "string" &&
    !Number.isNaN(Date.parse(taken_at)) &&
    isTexts(migrations) &&
    isTexts(root_keys) &&
    isRecord(rows) &&
    Object.values(rows).every((count) => Number.isInteger(count)) &&
    typeof bytes === "number" &&
    typeof sha256 === "string"
  );
}
