import { UNFINISHED } from "../base/whole-file.js";
import type { BackupTarget } from "./backup-target.js";
import { EXPORT_ENDING, MANIFEST_ENDING, type Manifest, nameInManifestFile, timeInName } from "./manifest.js";
import { listBackups, readStoredManifest } from "./stored-backups.js";

const DAY_MS = 86_400_000;
/** How long a backup may be in the making. What is older and has no manifest was left by a killed run. */
const UNFINISHED_MS = 2 * DAY_MS;

/** Which backups stay. Each rule keeps what it names; the newest stays in any case. */
export interface Retention {
  /** The number of newest ones. */
  readonly keep: number | undefined;
  /** Those of as many days. */
  readonly keepDays: number | undefined;
}

export interface TakenBackup {
  readonly name: string;
  readonly takenAt: Date;
}

/**
 * The backups that no rule keeps, oldest first. Without rules all stay. Later times than now are of a clock that was
 * ahead, or of a manifest that somebody wrote: these stay, and take the place of no other.
 */
export function expiredBackups(
  backups: readonly TakenBackup[],
  { keep, keepDays }: Retention,
  now: Date,
): readonly TakenBackup[] {
  if (keep === undefined && keepDays === undefined) return [];
  const until = backups.filter(({ takenAt }) => takenAt <= now);
  const oldestFirst = until.toSorted((a, b) => a.takenAt.getTime() - b.takenAt.getTime());
  const candidates = oldestFirst.slice(0, Math.max(0, oldestFirst.length - Math.max(1, keep ?? 1)));
  const youngest = keepDays === undefined ? Number.POSITIVE_INFINITY : now.getTime() - keepDays * DAY_MS;
  return candidates.filter(({ takenAt }) => takenAt.getTime() < youngest);
}

/**
 * Removes this vault's backups that no rule keeps, and what killed runs left.
 * @param newest just taken: the database's clock says what is old, as it did for the others.
 * @returns the names of the removed backups.
 */
export async function removeExpired(
  target: BackupTarget,
  newest: Pick<Manifest, "vault" | "taken_at">,
  retention: Retention,
): Promise<readonly string[]> {
  if (retention.keep === undefined && retention.keepDays === undefined) return [];
  const now = new Date(newest.taken_at);
  const own: TakenBackup[] = [];
  for (const name of await listBackups(target)) {
    // A damaged manifest tells nothing: its backup stays for a person to look at.
    const manifest = await readStoredManifest(target, name).catch(() => undefined);
    if (manifest?.vault === newest.vault) own.push({ name, takenAt: new Date(manifest.taken_at) });
  }
  const expired = expiredBackups(own, retention, now).map(({ name }) => name);
  for (const name of expired) {
    // First the manifest: without it the backup does not count, wherever this stops.
    await target.remove(`${name}${MANIFEST_ENDING}`);
    await target.remove(`${name}${EXPORT_ENDING}`);
  }
  for (const file of leftovers(await target.list(), now)) await target.remove(file);
  return expired;
}

/** Files of killed runs: drafts, and exports without a manifest. */
export function leftovers(files: readonly string[], now: Date): readonly string[] {
  const finished = new Set(files.flatMap((file) => nameInManifestFile(file) ?? []));
  return files.filter((file) => {
    const begun = timeInName(file);
    if (begun === undefined || now.getTime() - begun.getTime() < UNFINISHED_MS) return false;
    if (file.endsWith(UNFINISHED)) return true;
    return file.endsWith(EXPORT_ENDING) && !finished.has(file.slice(0, -EXPORT_ENDING.length));
  });
}
