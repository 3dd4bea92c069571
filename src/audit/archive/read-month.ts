import type { ChainHead } from "../../crypto/log-seal.js";
import { logSigningKey } from "../../crypto/log-signing.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { readSeal, type SealRow } from "../../store/audit/audit-seals.js";
import { monthStart } from "../../store/audit/log-partitions.js";
import type { Database } from "../../store/database.js";
import { isSameEntry, readArchivedMonth } from "./archived-month.js";
import { ArchiveFailure, archivedFile, type LogArchive } from "./log-archive.js";

export interface MonthParts {
  readonly database: Pick<Database, "of">;
  readonly keys: TenantKeys;
  readonly archive: LogArchive;
}

/** The time whose rows are in the archive. */
export interface ArchivedTime {
  readonly from: Date;
  /** Not included: from here on rows are in the database. */
  readonly until: Date;
}

export interface ArchivedRange extends ArchivedTime {
  /** Where the log's time was set back: files from before that are not the whole month any more. */
  readonly setBacks: readonly SealRow[];
}

/** The head of a log's chain says which part of the log the archive has. Undefined: the archive has none of it. */
export function archivedTime({ keptFrom, archivedFrom }: ChainHead): ArchivedTime | undefined {
  if (!keptFrom || !archivedFrom || archivedFrom >= keptFrom) return undefined;
  return { from: archivedFrom, until: keptFrom };
}

/**
 * Reads the rows of a tenant's archived month from the one file that stands for them, as {@link readArchivedMonth} does.
 * Rows mean nothing before this has returned.
 * @returns the number of rows.
 * @throws {ArchiveFailure}
 */
export async function readMonth(
  { archive, database, keys }: MonthParts,
  { from, until, setBacks }: ArchivedRange,
  month: Date,
  onRow: (line: Buffer) => void,
): Promise<number> {
  const key = logSigningKey(keys.audit, keys.tenantId);
  const expected = { tenantId: keys.tenantId, key, month, archivedFrom: from };
  const { rows, last } = await readArchivedMonth(archive, expected, onRow);
  const end = Math.min(monthStart(month, 1).getTime(), until.getTime());
  const name = `${archivedFile(keys.tenantId, month)} in ${archive.name}`;
  if (setBacks.some(({ number, window_start }) => number > last.number && window_start.getTime() < end)) {
    throw new ArchiveFailure(`${name} was made before the month ended`, { isDown: false });
  }
  const entry = await database.of(keys.tenantId).bulk((tx) => tx.query(readSeal, last.number));
  if (!entry || !isSameEntry(entry, last)) {
    throw new ArchiveFailure(`${name} is of another history of this log`, { isDown: false });
  }
  return rows;
}
