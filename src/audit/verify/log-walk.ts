import type { TenantId } from "../../base/ids.js";
import { NO_SEAL } from "../../crypto/log-seal.js";
import { RowDigest } from "../../crypto/row-digest.js";
import { type RawLogRow, rowCells } from "../../store/audit/raw-log.js";
import { type FindingKind, Findings } from "../chain/findings.js";
import { minuteStart } from "../chain/minute-counts.js";
import { NO_BODY, type SealBody } from "../chain/seal-body.js";

/** An entry of a chain, wherever it was read. Hashes are in hexadecimal. */
export interface WalkedEntry
  extends Pick<SealBody, "number" | "kind" | "window" | "rows" | "digest" | "mac" | "after"> {
  /** What its signed text says of the signed entry before. Absent if it has no text. */
  readonly previous?: SealBody["previous"] | undefined;
  /** The hash of its signed text. */
  readonly hash?: string | undefined;
  /** Why it is not the vault's, by what the source can check: its MAC, its signature, or both. Absent: it is. */
  readonly forged?: string | undefined;
}

/** Which rows of an entry its source has: `some` where a file begins within a minute. */
export type RowsThere = "all" | "some" | "none";

/** What a source says of the numbers of its entries. */
interface Numbering {
  /** The number of the first. Absent: a part of the log, which begins anywhere. */
  readonly first?: number | undefined;
  /** The vault knows what an operator acknowledged by a restart. For everybody else entries are missing there. */
  readonly mayRestartSkip?: boolean;
}

export interface WalkedSource extends Numbering {
  readonly tenantId: TenantId;
  /** Rows before this were removed after their retention. */
  readonly keptFrom?: Date | undefined;
}

/** The part of an entry by which a chain holds together. */
type Link = Pick<WalkedEntry, "number" | "kind" | "mac" | "after" | "previous" | "hash">;

/**
 * Verifies a tenant's log from any source: its rows and its entries, in their order. Holds no rows. Each step has its
 * own findings, which read the same whatever the source is.
 */
export class LogWalk {
  readonly #source: WalkedSource;
  readonly findings: Findings;
  #open: OpenMinute | undefined;
  #lastMinute: Date | undefined;
  #last: WalkedEntry | undefined;
  rows = 0;
  entries = 0;

  constructor(source: WalkedSource, findings = new Findings()) {
    this.findings = findings;
    this.#source = source;
  }

  get last(): WalkedEntry | undefined {
    return this.#last;
  }

  /** The minute of the last entry, unless that was a mark: earlier minutes may follow a mark. */
  get lastMinute(): Date | undefined {
    return this.#lastMinute;
  }

  /** Rows that no entry has covered yet. */
  get openRows(): number {
    return this.#open?.digest.count ?? 0;
  }

  /** Step 1, for each row: in its order, and in the minute of the next entry. */
  row(row: RawLogRow): void {
    this.rows += 1;
    const minute = minuteStart(row);
    if (this.#lastMinute && minute <= this.#lastMinute) {
      this.findings.add("rows_added", minute, "a row is of a minute that was sealed before");
      return;
    }
    if (this.#open && this.#open.minute.getTime() !== minute.getTime()) this.unsealed();
    if (this.#open && !isAfter(row, this.#open.last)) {
      this.findings.add("rows_changed", minute, "the rows of this minute are not in their order");
    }
    this.#open ??= { minute, digest: new RowDigest(this.#source.tenantId), last: row };
    this.#open.digest.add(rowCells(row));
    this.#open.last = row;
  }

  /**
   * Steps 2 to 5, for each entry: made by the vault, in its place, of a later minute, over the rows before it.
   */
  entry(entry: WalkedEntry, rows: RowsThere): void {
    if (entry.forged) this.findings.add("seal_changed", entry.window, entry.forged);
    const misplaced = whyMisplaced(entry, this.#last, this.#source);
    if (misplaced) this.findings.add(misplaced.kind, entry.window, misplaced.detail);
    this.#checkMinute(entry);
    if (this.#open?.minute.getTime() !== entry.window.getTime() || rows === "none") this.unsealed();
    if (rows === "all") this.#checkRows(entry);
    this.#open = undefined;
    this.#lastMinute = entry.kind === "minute" ? entry.window : undefined;
    this.#last = entry;
    this.entries += 1;
  }

  /** Rows that no entry covers, although one follows, or nothing does. Rows of removed minutes are about to be deleted. */
  unsealed(): void {
    const { minute, digest } = this.#open ?? {};
    this.#open = undefined;
    if (!minute || !digest || isBefore(minute, this.#source.keptFrom)) return;
    this.findings.add("rows_unsealed", minute, `${numbered(digest.count, "row")} in a minute that has no seal`);
  }

  #checkMinute({ number, kind, window }: WalkedEntry): void {
    if (kind !== "minute" || !this.#lastMinute || window > this.#lastMinute) return;
    this.findings.add("seal_changed", window, `entry ${number} is of an earlier minute than the one before`);
  }

  #checkRows({ window, rows, digest }: WalkedEntry): void {
    if (isBefore(window, this.#source.keptFrom)) return;
    const counted = this.#open?.digest ?? new RowDigest(this.#source.tenantId);
    const { count } = counted;
    if (count !== rows) {
      const kind = count < rows ? "rows_missing" : "rows_added";
      this.findings.add(kind, window, `${count} of ${numbered(rows, "row")} ${count === 1 ? "is" : "are"} there`);
    } else if (counted.finish().toString("hex") !== digest) {
      const detail = `the ${numbered(count, "row")} of this minute are not those that were sealed`;
      this.findings.add("rows_changed", window, detail);
    }
  }
}

/**
 * Why an entry does not belong behind the one before it; undefined if it does. A restarted chain skips a number, and
 * follows what was left at its restart.
 */
export function whyMisplaced(
  entry: Link,
  last: Link | undefined,
  { first, mayRestartSkip = false }: Numbering,
): { readonly kind: FindingKind; readonly detail: string } | undefined {
  const { number, kind, after, previous } = entry;
  const expected = last ? last.number + 1 : first;
  const isSkip = kind === "restart" && mayRestartSkip;
  if (expected !== undefined && (number < expected || (number > expected && !isSkip))) {
    const detail = `entry ${number} is where entry ${expected} belongs`;
    return { kind: number > expected ? "seal_missing" : "seal_changed", detail };
  }
  const before = last ?? (first === 1 || number === 1 ? BEGINNING : undefined);
  const follows = !before || (after === before.mac && isSigned(previous, before));
  if (follows && (!previous || previous.number < number)) return undefined;
  return { kind: "seal_changed", detail: `entry ${number} does not follow the entry before` };
}

/** Without the text of one of both, nothing is known of what it names. */
function isSigned(previous: Link["previous"], before: Pick<Link, "number" | "hash">): boolean {
  if (!previous || before.hash === undefined) return true;
  return previous.number === before.number && previous.hash === before.hash;
}

/** What the first entry of a chain follows. */
export const BEGINNING = { number: 0, mac: Buffer.from(NO_SEAL).toString("hex"), hash: NO_BODY };

/** Rows since the last entry. */
interface OpenMinute {
  readonly minute: Date;
  readonly digest: RowDigest;
  last: RawLogRow;
}

function isAfter(row: RawLogRow, last: RawLogRow): boolean {
  return row.micros === last.micros ? row.id > last.id : Number(row.micros) > Number(last.micros);
}

function isBefore(minute: Date, keptFrom: Date | undefined): boolean {
  return keptFrom !== undefined && minute < keptFrom;
}

export function numbered(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
