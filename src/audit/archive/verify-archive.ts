import { monthStart } from "../../store/audit/log-partitions.js";
import { Findings } from "../chain/findings.js";
import { ArchiveFailure } from "./log-archive.js";
import { type ArchivedRange, type MonthParts, readMonth } from "./read-month.js";

export interface ArchiveVerdict {
  /** Files that are as the vault wrote them. */
  readonly months: number;
  readonly rows: number;
  /** For each other month one, with its first minute. */
  readonly findings: Findings;
}

/** Verifies the file of each archived month of a log. Lists would refuse the months that it has findings for. */
export async function verifyArchive(
  parts: MonthParts,
  range: ArchivedRange,
  onProgress: (rows: number) => void,
): Promise<ArchiveVerdict> {
  const findings = new Findings();
  let months = 0;
  let rows = 0;
  for (let month = monthStart(range.from); month < range.until; month = monthStart(month, 1)) {
    let read = 0;
    try {
      rows += await readMonth(parts, range, month, () => {
        read += 1;
        onProgress(rows + read);
      });
      months += 1;
    } catch (error) {
      if (!(error instanceof ArchiveFailure)) throw error;
      findings.add(error.isDown ? "file_missing" : "file_changed", month, error.message);
    }
  }
  return { months, rows, findings };
}
