import { createHash } from "node:crypto";
import type { TenantId } from "../../base/ids.js";
import { hashOfSigned, isLogSignature, type LogSigningKey, readLogPublicKey } from "../../crypto/log-signing.js";
import type { SealRow } from "../../store/audit/audit-seals.js";
import { monthStart } from "../../store/audit/log-partitions.js";
import {
  type EndLine,
  endText,
  type Manifest,
  parseLineFields,
  readEnd,
  readManifest,
  readSigned,
} from "../export/export-format.js";
import type { WalkedEntry } from "../verify/log-walk.js";
import { rawLines, Unreadable } from "../verify/raw-lines.js";
import { ArchiveFailure, archivedFile, type LogArchive, readArchive } from "./log-archive.js";

export interface ArchivedMonth {
  readonly tenantId: TenantId;
  readonly key: LogSigningKey;
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

/** The last entry of the chain in a file. Its text names the one before, so it stands for all. */
export type LastEntry = Pick<WalkedEntry, "number" | "hash">;

/** A file of the history that a restored backup replaced is signed too, and has another entry with that number. */
export function isSameEntry({ signed_body }: SealRow, { hash }: LastEntry): boolean {
  return signed_body !== null && hashOfSigned(signed_body) === hash;
}

const ROW = Buffer.from('{"kind":"row"');
const SIGNED = [Buffer.from('{"kind":"seal"'), Buffer.from('{"kind":"link"')];
const END = Buffer.from('{"kind":"end"');

const begins = (line: Buffer, begin: Buffer) => line.subarray(0, begin.length).equals(begin);

/**
 * Reads the rows of a month, oldest first but for minutes whose time passed twice. The signature in the last line covers
 * every byte, so rows mean nothing before this has returned.
 * @param onRow may throw {@link Unreadable}.
 * @returns the number of rows, and the chain's last entry in the file.
 * @throws {ArchiveFailure}
 */
export async function readArchivedMonth(
  archive: LogArchive,
  month: ArchivedMonth,
  onRow: (line: Buffer) => void,
): Promise<{ readonly rows: number; readonly last: LastEntry }> {
  const name = archivedFile(month.tenantId, month.month);
  const hash = createHash("sha256");
  let manifest: Manifest | undefined;
  let end: EndLine | undefined;
  let signed: Buffer | undefined;
  let rows = 0;
  const failure = (problem: string, cause?: unknown) =>
    new ArchiveFailure(`${name} in ${archive.name} is not as the vault wrote it: ${problem}`, { isDown: false, cause });
  try {
    for await (const line of rawLines(readArchive(archive, name))) {
      if (end) throw new Unreadable("something follows the last line");
      if (begins(line, END)) {
        end = readLine(line, readEnd);
        if (!end) throw new Unreadable("its last line is not one of an export");
        continue;
      }
      hash.update(line);
      if (!manifest) {
        manifest = readLine(line, (fields, text) => readManifest(fields, text, month.tenantId));
        if (!manifest) throw new Unreadable("its first line is not the manifest of an export of this tenant");
      } else if (begins(line, ROW)) {
        rows += 1;
        onRow(line);
      } else if (SIGNED.some((begin) => begins(line, begin))) {
        signed = line;
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
  const { body } = (signed && readLine(signed, readSigned)) ?? { body: "" };
  return { rows, last: { number: manifest.last, hash: hashOfSigned(body) } };
}

function readLine<T>(line: Buffer, read: (fields: ReadonlyMap<string, unknown>, text: string) => T): T | undefined {
  const text = line.toString("utf8", 0, line.length - 1);
  const fields = parseLineFields(text);
  return fields && read(fields, text);
}
