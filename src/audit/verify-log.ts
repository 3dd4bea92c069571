import type { TenantId } from "../base/ids.js";
import { isMac, macOfMinute, NO_SEAL, RowDigest } from "../crypto/log-seal.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { cellsOf, type EndRow, type SealRow } from "../store/audit-seals.js";
import { MINUTE_MS } from "../store/due.js";
import type { LogSnapshot } from "../store/log-snapshot.js";
import { isEnd } from "./chain.js";
import { type Finding, Findings } from "./findings.js";
import { RowFeed } from "./row-feed.js";
import { minuteOf } from "./seal-log.js";

/** A seal that was seen at an earlier time, and kept where whoever changes the database cannot reach it. */
export interface SeenSeal {
  readonly number: number;
  readonly minute: Date;
  /** In hexadecimal. */
  readonly mac: string;
}

export interface LogVerdict {
  readonly rows: number;
  readonly seals: number;
  /** Rows of the last minutes, which are not sealed yet: nothing can be said of them. */
  readonly unsealedRows: number;
  /** Rows before this were removed when their time was over. */
  readonly keptFrom: Date | undefined;
  /** To be compared with at a later time. Absent: there is no seal yet. */
  readonly lastSeal: SeenSeal | undefined;
  /** The first thousand. */
  readonly findings: readonly Finding[];
  readonly findingCount: number;
}

export interface VerifyOptions {
  /** The last seal that an earlier verification saw. */
  readonly seen: SeenSeal | undefined;
  /** Told how many rows have been read so far. */
  readonly onProgress: (rows: number) => void;
}

/**
 * Compares a tenant's log with its seals, minute by minute, in flat memory. Finds what anybody without the tenant's key did
 * to rows or seals, unless it took away the whole end of the log and put an end of the chain in place that was true at
 * that time: only a seal that was `seen` before tells of that.
 */
export async function verifyLog(
  snapshot: LogSnapshot,
  tenantId: TenantId,
  keys: TenantKeys,
  { seen, onProgress }: VerifyOptions,
): Promise<LogVerdict> {
  const findings = new Findings();
  const end = snapshot.end && isEnd(keys, tenantId, snapshot.end) ? snapshot.end : undefined;
  const keptFrom = end?.kept_from ?? undefined;
  let rows = 0;
  const feed = new RowFeed(snapshot.rows(), (count) => {
    rows += count;
    onProgress(rows);
  });
  let last: SealRow | undefined;
  let seals = 0;
  let awaited = seen;
  for await (const page of snapshot.seals()) {
    for (const seal of page) {
      await findStrays(feed, seal.window_start, keptFrom, findings);
      checkPlace(seal, last, findings);
      if (!isMac(seal.mac, () => macOfMinute(keys.audit, seal.key_version, tenantId, sealedMinuteOf(seal)))) {
        findings.add("seal_changed", seal.window_start, "the seal of this minute was not made by this vault");
      }
      await checkRows(feed, tenantId, seal, keptFrom, findings);
      if (awaited?.number === seal.number && awaited.mac === seal.mac.toString("hex")) awaited = undefined;
      last = seal;
      seals += 1;
    }
  }
  if (awaited)
    findings.add("seal_missing", awaited.minute, `seal ${awaited.number}, which was seen before, is not there`);
  checkEnd(snapshot.end, end !== undefined, last, findings);
  let unsealedRows = 0;
  await feed.take(undefined, () => {
    unsealedRows += 1;
  });
  return {
    ...{ rows, seals, unsealedRows, keptFrom },
    lastSeal: last && { number: last.number, minute: last.window_start, mac: last.mac.toString("hex") },
    findings: findings.list,
    findingCount: findings.count,
  };
}

/** Rows before a sealed minute that belong to no sealed minute themselves. */
async function findStrays(feed: RowFeed, until: Date, keptFrom: Date | undefined, findings: Findings): Promise<void> {
  let minute: Date | undefined;
  let count = 0;
  const tell = () => {
    // What is left of removed minutes is on its way out.
    if (!minute || (keptFrom && minute < keptFrom)) return;
    findings.add("rows_unsealed", minute, `${numbered(count, "row")} in a minute that has no seal`);
  };
  await feed.take(until, (row) => {
    const of = minuteOf(row);
    if (minute?.getTime() !== of.getTime()) {
      tell();
      minute = of;
      count = 0;
    }
    count += 1;
  });
  tell();
}

function checkPlace(seal: SealRow, last: SealRow | undefined, findings: Findings): void {
  const expected = (last?.number ?? 0) + 1;
  if (seal.number > expected) {
    const gone = numbered(seal.number - expected, "seal");
    const since = last ? `after ${last.window_start.toISOString()}` : "at the beginning";
    findings.add("seal_missing", seal.window_start, `${gone} between this minute and the one ${since} are gone`);
  } else if (seal.number < expected) {
    findings.add("seal_changed", seal.window_start, `seal ${seal.number} stands where seal ${expected} belongs`);
  } else if (!seal.previous.equals(last?.mac ?? NO_SEAL)) {
    findings.add("seal_changed", seal.window_start, "the seal of this minute does not follow the one before");
  }
}

async function checkRows(
  feed: RowFeed,
  tenantId: TenantId,
  seal: SealRow,
  keptFrom: Date | undefined,
  findings: Findings,
): Promise<void> {
  const start = seal.window_start;
  const digest = new RowDigest(tenantId, start);
  await feed.take(new Date(start.getTime() + MINUTE_MS), (row) => digest.add(cellsOf(row)));
  if (keptFrom && start < keptFrom) return;
  const { count } = digest;
  if (count < seal.row_count) {
    const missing = numbered(seal.row_count - count, "row");
    findings.add("rows_missing", start, `${missing} of ${seal.row_count} missing, if the others are unchanged`);
  } else if (count > seal.row_count) {
    const added = numbered(count - seal.row_count, "row");
    findings.add("rows_added", start, `${added} more than the ${seal.row_count} that were sealed`);
  } else if (!digest.finish().equals(seal.digest)) {
    findings.add("rows_changed", start, `the ${numbered(count, "row")} of this minute are not those that were sealed`);
  }
}

function checkEnd(end: EndRow | undefined, isOurs: boolean, last: SealRow | undefined, findings: Findings): void {
  const minute = last?.window_start;
  if (!end) {
    if (last) findings.add("end_changed", minute, "the record of where the chain ends is gone");
  } else if (!isOurs) {
    findings.add("end_changed", minute, "the record of where the chain ends was not made by this vault");
  } else if (end.number > (last?.number ?? 0)) {
    const gone = numbered(end.number - (last?.number ?? 0), "seal");
    findings.add("seal_missing", minute, `${gone} after ${minute ? "this minute" : "the beginning"} are gone`);
  } else if (end.number < (last?.number ?? 0) || !end.last_mac.equals(last?.mac ?? NO_SEAL)) {
    findings.add("end_changed", minute, "the record of where the chain ends is not that of its last seal");
  }
}

function sealedMinuteOf({ window_start, number, row_count, digest, previous }: SealRow) {
  return { windowStart: window_start, number, rowCount: row_count, digest, previous };
}

function numbered(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
