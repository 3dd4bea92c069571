import type { TenantId } from "../../base/ids.js";
import { logSigningKey } from "../../crypto/log-signing.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { moveChainHead, readSeal, type SealRow } from "../../store/audit/audit-seals.js";
import { readSinkPositions } from "../../store/audit/audit-sinks.js";
import { monthStart } from "../../store/audit/log-partitions.js";
import { type LogSnapshot, openLogSnapshot } from "../../store/audit/log-snapshot.js";
import type { DatabaseAddress } from "../../store/postgres/connect.js";
import { ChainConflict, readChain, signHead } from "../chain/chain.js";
import { sealUntilNow } from "../chain/proven-until.js";
import { MONTHS_AT_ONCE } from "../chain/retain-log.js";
import type { SealParts } from "../chain/seal-log.js";
import { exportRange } from "../export/export-range.js";
import { stampTokens } from "../export/stamp-tokens.js";
import { openTenant } from "../tenant-database.js";
import type { TenantTransaction } from "../tenant-transaction.js";
import { verifyExport } from "../verify/verify-export.js";
import { type ArchivedMonth, isSameEntry, type LastEntry, readArchivedMonth, whyOtherMonth } from "./archived-month.js";
import { ArchiveFailure, archivedFile, errorMessage, type LogArchive, readArchive } from "./log-archive.js";

export interface ArchiveParts extends SealParts {
  readonly archive: LogArchive;
  /** Of a login that may act as the application. */
  readonly address: DatabaseAddress;
}

interface DueMonth {
  /** Its first moment. */
  readonly month: Date;
  readonly until: Date;
  /** Rows before this are gone. */
  readonly from: Date;
  readonly archivedFrom: Date;
}

/**
 * Archives a tenant's months before a time, oldest first, and frees their rows: once a file was read back and verified,
 * the head of the chain says, under its MAC, that its rows are in the archive. It may end anywhere: the next run verifies
 * what is there and goes on. One run archives at most {@link MONTHS_AT_ONCE}. A log that was tampered with is evidence, so
 * nothing of it is freed.
 * @throws {ArchiveFailure}
 */
export async function archiveOldLog(
  parts: ArchiveParts,
  tenantId: TenantId,
  { oldest, now, signal }: { readonly oldest: Date; readonly now: Date; readonly signal: AbortSignal },
): Promise<void> {
  const log = await openTenant(parts, tenantId);
  const next = () => log.bulk((tx) => dueMonth(tx, parts, oldest));
  // An idle log is closed up to its last row: the file must prove its whole month.
  if (!(await next()) || !(await sealUntilNow(parts, tenantId, now))) return;
  for (let months = 0; months < MONTHS_AT_ONCE && !signal.aborted; months += 1) {
    const due = await next();
    if (!due) return;
    await archiveMonth(parts, log.keys, due);
    const isFreed = await log
      .bulk((tx) => freeMonth(tx, due))
      .catch((error: unknown) => {
        // Another process has sealed a minute meanwhile. The next run verifies the file again.
        if (error instanceof ChainConflict) return false;
        throw error;
      });
    if (!isFreed) return;
  }
}

/** The oldest month of a log that is past its retention and in every sink; undefined if there is none. */
async function dueMonth(
  tx: TenantTransaction,
  { sinks = [] }: Pick<ArchiveParts, "sinks">,
  oldest: Date,
): Promise<DueMonth | undefined> {
  const { head, last, isWhole } = await readChain(tx);
  if (!head || !last || !isWhole) return undefined;
  const begin = head.keptFrom ?? (await tx.query(readSeal, 1))?.window_start;
  if (!begin) return undefined;
  const month = monthStart(begin);
  const from = head.keptFrom ?? month;
  const until = monthStart(month, 1);
  const positions = await tx.query(readSinkPositions, "all");
  const isSent = sinks.every((sink) => {
    const { number, sentUntil } = positions.get(sink) ?? { number: 0, sentUntil: new Date(0) };
    return number >= last.number || sentUntil >= until;
  });
  if (until > oldest || !isSent) return undefined;
  const archivedFrom = head.archivedFrom && head.archivedFrom < from ? head.archivedFrom : from;
  return { month, until, from, archivedFrom };
}

async function freeMonth(tx: TenantTransaction, { until, from, archivedFrom, month }: DueMonth): Promise<boolean> {
  const { stored, head, isWhole } = await readChain(tx);
  if (!stored || !head || !isWhole || (head.keptFrom ?? month).getTime() !== from.getTime()) return false;
  const moved = signHead(tx.keys, { ...head, keptFrom: until, archivedFrom });
  if (!(await tx.query(moveChainHead, { before: stored.mac, head: moved }))) throw new ChainConflict();
  return true;
}

/** Writes the file of a month unless it is there, reads it back and verifies it. */
async function archiveMonth(parts: ArchiveParts, keys: TenantKeys, { month, until, from, archivedFrom }: DueMonth) {
  const { archive, address, database } = parts;
  const { tenantId } = keys;
  const name = archivedFile(tenantId, month);
  const expected = { tenantId, key: logSigningKey(keys.audit, tenantId), month, archivedFrom };
  await using snapshot = await openLogSnapshot(address, tenantId);
  const rows = await snapshot.countRows({ since: from, until });
  const whyBad = () => whyNotMonth(parts, snapshot, expected, rows);
  // A file that cannot be read is not there, or the archive is down: writing tells.
  const known = await whyBad().catch(() => "absent");
  let problem = known;
  if (known === "absent") {
    const log = { tenantId, keys, isWhole: true, tokenOf: stampTokens(database) };
    const lines = exportRange(snapshot, log, { since: month, until }, () => {});
    await archive.write(name, encoded(lines)).catch((cause: unknown) => {
      throw new ArchiveFailure(errorMessage(cause), { isDown: true, cause });
    });
    problem = await whyBad();
  }
  if (problem === undefined) return;
  const advice = known === "absent" ? "" : ". If it is no evidence, remove it: it is written again";
  throw new ArchiveFailure(`${name} in ${archive.name}: ${problem}${advice}`, { isDown: false });
}

/** Why a file does not stand for the rows of its month; undefined if it does. */
async function whyNotMonth(
  { archive }: Pick<ArchiveParts, "archive">,
  snapshot: LogSnapshot,
  month: ArchivedMonth,
  rows: number,
): Promise<string | undefined> {
  const pieces = readArchive(archive, archivedFile(month.tenantId, month.month));
  const { manifest, state, findings, attestedUntil, ...found } = await verifyExport(pieces, {
    fingerprint: month.key.fingerprint,
  });
  const [finding] = findings;
  if (!manifest) return finding?.detail ?? "it is not an export";
  const other = whyOtherMonth(manifest, attestedUntil?.toISOString(), month);
  if (other) return other;
  if (state === "good" && found.rows !== rows) return otherRows(found.rows, rows);
  if (state === "good") return whyOtherHistory(snapshot, found.last);
  if (!(await hasRestart(snapshot, manifest.first))) return finding?.detail ?? "it cannot be verified";
  // An operator has seen what is wrong in this log, and restarted its chain. The file must still be what the vault wrote.
  const kept = await readArchivedMonth(archive, month, () => {});
  // Rows that no seal covers are in no file: they may be what the operator looked for.
  if (kept.rows < rows) return otherRows(kept.rows, rows);
  return whyOtherHistory(snapshot, kept.last);
}

function otherRows(inFile: number, inLog: number): string {
  return `it has ${inFile} rows, and the log ${inLog}`;
}

async function whyOtherHistory(snapshot: LogSnapshot, last: LastEntry | undefined): Promise<string | undefined> {
  const numbers = { first: last?.number ?? 0, last: last?.number ?? 0 };
  for await (const [entry] of snapshot.seals(numbers)) if (last && entry && isSameEntry(entry, last)) return undefined;
  return "it is of another history of this log, such as one that a restored backup replaced";
}

async function hasRestart(snapshot: LogSnapshot, first: number): Promise<boolean> {
  const isRestart = ({ kind }: SealRow) => kind === "restart";
  for await (const page of snapshot.seals({ first, last: Number.MAX_SAFE_INTEGER }))
    if (page.some(isRestart)) return true;
  return false;
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield Buffer.from(text);
}
