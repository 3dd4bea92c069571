import { createHash } from "node:crypto";
import type { TenantId } from "../../base/ids.js";
import { isLogSignature, type LogSigningKey, readLogPublicKey } from "../../crypto/log-signing.js";
import { monthStart } from "../../store/audit/log-partitions.js";
import { type EndLine, endText, fieldsOf, type Manifest, readEnd, readManifest } from "../export/export-format.js";
import { rawLines, Unreadable } from "../verify/raw-lines.js";
import { ArchiveFailure, archivedFile, type LogArchive, readArchive } from "./log-archive.js";

/** The month that a file must be. */
export interface ArchivedMonth {
  readonly tenantId: TenantId;
  readonly key: LogSigningKey;
  /** Its first moment. */
  readonly month: Date;
  /** Rows before this were removed before the log had an archive. */
  readonly archivedFrom: Date;
}

/** Why a file that the vault signed is not that of a month; undefined if it is. */
export function whyOtherMonth(
  manifest: Manifest,
  provenUntil: string | null | undefined,
  { tenantId, key, month, archivedFrom }: ArchivedMonth,
): string | undefined {
  const until = monthStart(month, 1).toISOString();
  if (manifest.tenant_id !== tenantId) return "it is the log of another tenant";
  if (manifest.key !== key.fingerprint) return "another key signed it";
  if (manifest.since !== month.toISOString() || manifest.until !== until) return "it is of another time";
  if (provenUntil !== until) return "it was made before the month was sealed";
  const from = archivedFrom > month ? archivedFrom : month;
  if (manifest.kept_from === null || new Date(manifest.kept_from) <= from) return undefined;
  return "it was made after rows of the month were removed";
}

const ROW = Buffer.from('{"kind":"row"');
const END = Buffer.from('{"kind":"end"');

/**
 * Reads the rows of a month, oldest first but for minutes whose time passed twice. The signature in the last line covers
 * every byte, so rows mean nothing before this has returned.
 * @returns the number of rows, and of the chain's last entry in the file.
 * @throws {ArchiveFailure}
 */
export async function readArchivedMonth(
  archive: LogArchive,
  month: ArchivedMonth,
  onRow: (line: Buffer) => void,
): Promise<{ readonly rows: number; readonly last: number }> {
  const name = archivedFile(month.tenantId, month.month);
  const hash = createHash("sha256");
  let manifest: Manifest | undefined;
  let end: EndLine | undefined;
  let rows = 0;
  const failure = (problem: string, cause?: unknown) =>
    new ArchiveFailure(`${name} in ${archive.name} is not as the vault wrote it: ${problem}`, { isDown: false, cause });
  try {
    for await (const line of rawLines(readArchive(archive, name))) {
      if (end) throw new Unreadable("something follows the last line");
      if (line.subarray(0, END.length).equals(END)) {
        end = readLine(line, readEnd);
        if (!end) throw new Unreadable("its last line is not one of an export");
        continue;
      }
      hash.update(line);
      if (!manifest) {
        manifest = readLine(line, (fields, text) => readManifest(fields, text, month.tenantId));
        if (!manifest) throw new Unreadable("its first line is not the manifest of an export of this tenant");
      } else if (line.subarray(0, ROW.length).equals(ROW)) {
        rows += 1;
        onRow(line);
      }
    }
  } catch (error) {
    throw error instanceof Unreadable ? failure(error.message, error) : error;
  }
  if (!manifest || !end) throw failure("its end is missing");
  const publicKey = readLogPublicKey(month.key.publicKey);
  const signature = Buffer.from(end.signature, "base64");
  const isSigned = publicKey !== undefined && isLogSignature(publicKey, endText(manifest, end), signature);
  if (!isSigned || end.rows !== rows || end.sha256 !== hash.digest("hex")) throw failure("its signature is wrong");
  const other = whyOtherMonth(manifest, end.sealed_until, month);
  if (other) throw failure(other);
  return { rows, last: manifest.last };
}

function readLine<T>(line: Buffer, read: (fields: ReadonlyMap<string, unknown>, text: string) => T): T | undefined {
  const text = line.toString("utf8", 0, line.length - 1);
  const fields = fieldsOf(text);
  return fields && read(fields, text);
}
