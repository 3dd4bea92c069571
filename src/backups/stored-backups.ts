import { createHash } from "node:crypto";
import { text } from "node:stream/consumers";
import type { ExportHeader } from "../store/vault-copy/format.js";
import { BackupError } from "./backup-error.js";
import type { BackupTarget } from "./backup-target.js";
import {
  EXPORT_ENDING,
  MANIFEST_ENDING,
  type Manifest,
  nameInManifestFile,
  readBackupManifest,
  timeInName,
} from "./manifest.js";

/** The names of the backups there, oldest first. Those without a manifest were not finished, and do not count. */
export async function listBackups(target: BackupTarget): Promise<readonly string[]> {
  const files = await target.list();
  const names = files.flatMap((file) => nameInManifestFile(file) ?? []);
  return names.filter((name) => files.includes(`${name}${EXPORT_ENDING}`)).toSorted();
}

/** @throws {BackupError} */
export async function readStoredManifest(target: BackupTarget, name: string): Promise<Manifest> {
  return readBackupManifest(await text(target.read(`${name}${MANIFEST_ENDING}`)), name);
}

/**
 * @param wanted the name of a backup. Absent: the newest.
 * @throws {BackupError} if it is not there.
 */
export async function chosenBackup(target: BackupTarget, wanted: unknown): Promise<Manifest> {
  const names = await listBackups(target);
  const name = wanted === undefined ? names.at(-1) : names.find((each) => each === wanted);
  if (name !== undefined) return readStoredManifest(target, name);
  if (names.length === 0) throw new BackupError(`There is no backup in ${target.name}.`);
  throw new BackupError(`There is no backup ${String(wanted)} in ${target.name}. The newest is ${names.at(-1)}.`);
}

/** @throws {BackupError} after the last byte, if they are not those that were written. */
export async function* readBackup(target: BackupTarget, { name, sha256, bytes }: Manifest): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let read = 0;
  for await (const piece of target.read(`${name}${EXPORT_ENDING}`)) {
    hash.update(piece);
    read += piece.length;
    yield piece;
  }
  if (read === bytes && hash.digest("hex") === sha256) return;
  throw new BackupError(
    `${name}${EXPORT_ENDING} is not the file that was written: its checksum differs. Use another backup.`,
  );
}

/**
 * Requires that name, manifest and export say the same time. An import proves the header by the export's MAC: without
 * this, somebody who can write to the target could give an old export the name of a new one.
 * @throws {BackupError}
 */
export function requireSameTime({ name, taken_at }: Manifest, header: Pick<ExportHeader, "taken_at">): void {
  // Older exports do not say when they were taken.
  const exported = header.taken_at ?? taken_at;
  const inName = timeInName(name)?.toISOString().slice(0, -5);
  if (exported === taken_at && taken_at.slice(0, -5) === inName) return;
  throw new BackupError(
    `${name} is not the backup of its name: the export in it is of ${exported}. Look for who can write there.`,
  );
}
