import type { KeyObject } from "node:crypto";
import { MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { hashOfSigned, isLogSignature } from "../crypto/log-signing.js";
import { DIGEST_VERSIONS, newRowDigest, type RowDigest } from "../crypto/row-digest.js";
import { cellsOf, exceedsLayout, type RawLogRow } from "../store/audit/raw-log.js";
import type { EndLine, Manifest, SignedLine, StampLine, UnsignedLine } from "./export-format.js";
import { isWithin } from "./export-range.js";
import type { ExportStamps, StampedEntry } from "./export-stamps.js";
import type { Findings } from "./findings.js";
import { minuteOf } from "./minute-counts.js";
import { readBody, type SealBody } from "./seal-body.js";

/** What signed and unsigned entries have in common. */
type Entry = Pick<SealBody, "number" | "kind" | "window" | "rows" | "layout" | "digest" | "mac" | "after"> & {
  readonly isSigned: boolean;
};

/** Checks the entries of an export in the order of the chain, and the rows before each. Holds no rows. */
export class ExportEntries {
  readonly #tenantId: TenantId;
  readonly #manifest: Manifest;
  readonly #publicKey: KeyObject;
  readonly #findings: Findings;
  readonly #stamps: ExportStamps;
  readonly #range: { readonly since: Date; readonly until: Date };
  #open: OpenMinute | undefined;
  #last: Entry | undefined;
  #lastSigned: StampedEntry | undefined;
  #lastMinute: Date | undefined;
  rows = 0;
  entries = 0;
  /** Rows and minutes that only the vault can verify. */
  unsignedRows = 0;
  /** Minutes of the range whose rows were removed after their retention. */
  removedMinutes = 0;
  restarts = 0;
  /** Minutes whose digest has a layout of a later release. */
  unknownLayouts = 0;

  constructor(manifest: Manifest, publicKey: KeyObject, findings: Findings, stamps: ExportStamps) {
    this.#tenantId = manifest.tenant_id;
    this.#stamps = stamps;
    this.#manifest = manifest;
    this.#publicKey = publicKey;
    this.#findings = findings;
    this.#range = { since: new Date(manifest.since), until: new Date(manifest.until) };
  }

  /** The end of the last sealed minute of the range. Absent: the range has none. */
  get sealedUntil(): Date | undefined {
    const last = this.#lastMinute;
    return last && new Date(Math.min(last.getTime() + MINUTE_MS, this.#range.until.getTime()));
  }

  row(row: RawLogRow): void {
    this.rows += 1;
    const minute = minuteOf(row);
    if (!this.#open) {
      const digests = DIGEST_VERSIONS.map((version) => newRowDigest(version, this.#tenantId, minute));
      this.#open = { minute, digests, count: 0, uncovered: 0, last: row };
    } else {
      const { last, minute: open } = this.#open;
      if (open.getTime() !== minute.getTime()) {
        this.#findings.add("rows_unsealed", minute, "a row follows rows of another minute without a seal between them");
      } else if (!isAfter(row, last)) {
        this.#findings.add("rows_changed", minute, "the rows of this minute are not in their order");
      }
      this.#open.last = row;
    }
    if (exceedsLayout(row, DIGEST_VERSIONS[0])) this.#open.uncovered += 1;
    for (const [index, version] of DIGEST_VERSIONS.entries()) {
      // A seal of the first layout is wrong for such rows whatever its digest is.
      if (version === DIGEST_VERSIONS[0] && this.#open.uncovered > 0) continue;
      this.#open.digests[index]?.add(cellsOf(row, version));
    }
    this.#open.count += 1;
  }

  signed(line: SignedLine): void {
    const body = readBody(line.body);
    if (!body || body.tenantId !== this.#tenantId || body.key !== this.#manifest.key) {
      const what = body && body.tenantId === this.#tenantId ? "is signed by another key" : "is not one of this tenant";
      this.#findings.add("seal_changed", body?.window, `entry ${body?.number ?? "without a number"} ${what}`);
      return;
    }
    if (!isLogSignature(this.#publicKey, line.body, Buffer.from(line.signature, "base64"))) {
      this.#findings.add("seal_changed", body.window, `the signature of entry ${body.number} is wrong`);
    }
    this.#checkPrevious(body);
    this.#entry({ ...body, isSigned: true }, line.kind === "seal");
    const { number, window, signedAt } = body;
    this.#lastSigned = { number, window, signedAt, hash: hashOfSigned(line.body) };
  }

  stamp(line: StampLine): void {
    const isNext = this.#lastSigned?.number === this.#last?.number && !this.#open;
    this.#stamps.add(line, isNext ? this.#lastSigned : undefined, this.sealedUntil);
  }

  unsigned(line: UnsignedLine): void {
    this.#entry(
      { ...line, kind: "minute", window: new Date(line.window), isSigned: false },
      line.kind === "unsigned_seal",
    );
  }

  finish({ sealed_until }: EndLine): void {
    const { first, last, head, until } = this.#manifest;
    const isProven = sealed_until === null || sealed_until <= until;
    if (!isProven) this.#findings.add("file_changed", undefined, "the last line is about another range");
    if (this.#open) this.#findings.add("rows_unsealed", this.#open.minute, "rows without a seal are at the end");
    if ((this.#last?.number ?? 0) !== last) {
      this.#findings.add("seal_missing", this.#last?.window, `the chain ends before entry ${last} of the manifest`);
    }
    const isInside = this.#last?.kind === "minute" && isWithin(this.#range, this.#last.window);
    if (isInside && last !== head) {
      this.#findings.add("range_incomplete", this.#last?.window, "entries after this one are left out");
    }
    if (this.entries === 0 && head > 0) this.#findings.add("range_incomplete", undefined, `entry ${first} is left out`);
  }

  #entry(entry: Entry, hasRows: boolean): void {
    this.entries += 1;
    this.#checkPlace(entry);
    this.#checkWindow(entry, hasRows);
    if (hasRows) this.#checkRows(entry);
    else if (this.#open) this.#findings.add("rows_unsealed", this.#open.minute, "rows precede an entry that has none");
    if (entry.kind === "restart") this.restarts += 1;
    this.#open = undefined;
    this.#last = entry;
  }

  /** The signed entry before is the one that this entry names. */
  #checkPrevious({ number, window, previous }: SealBody): void {
    const last = this.#lastSigned;
    // The first in the file names one that is not in it, or none if it is the first of all.
    const isExpected = last ? previous.number === last.number && previous.hash === last.hash : previous.number < number;
    if (!isExpected)
      this.#findings.add("seal_changed", window, `entry ${number} does not follow the signed one before`);
    if (!last && this.#last && previous.number >= this.#manifest.first) {
      this.#findings.add("seal_changed", window, `signed entry ${previous.number} before entry ${number} is gone`);
    }
  }

  #checkPlace({ number, window, after }: Entry): void {
    const expected = this.#last ? this.#last.number + 1 : this.#manifest.first;
    if (number !== expected) {
      this.#findings.add("seal_missing", window, `entry ${number} is where entry ${expected} belongs`);
    } else if (this.#last && this.#last.mac !== after) {
      this.#findings.add("seal_changed", window, `entry ${number} does not follow the entry before`);
    }
  }

  #checkWindow({ number, kind, window }: Entry, hasRows: boolean): void {
    const findings = this.#findings;
    if (kind !== "minute") {
      this.#lastMinute = undefined;
      if (hasRows) findings.add("file_changed", window, `entry ${number} cannot have rows`);
      return;
    }
    if (this.#lastMinute && window <= this.#lastMinute) {
      findings.add("seal_changed", window, `entry ${number} is of an earlier minute than the one before`);
    }
    const keptFrom = this.#manifest.kept_from;
    const isInside = isWithin(this.#range, window);
    const isRemoved = keptFrom !== null && window < new Date(keptFrom);
    if (hasRows !== (isInside && !isRemoved)) {
      findings.add(
        "range_incomplete",
        window,
        `entry ${number} has ${hasRows ? "rows outside of the range" : "lost its rows"}`,
      );
    }
    if (isInside && !this.#last && number > 1) {
      findings.add("range_incomplete", window, "entries before this one are left out");
    }
    if (isInside && isRemoved) this.removedMinutes += 1;
    this.#lastMinute = window;
  }

  #checkRows({ number, window, rows, digest, layout, isSigned }: Entry): void {
    const open = this.#open;
    const count = open?.count ?? 0;
    const version = DIGEST_VERSIONS.find((known) => known === layout);
    if (!isSigned) this.unsignedRows += count;
    if (version === undefined) this.unknownLayouts += 1;
    else if (open && open.minute.getTime() !== window.getTime()) {
      this.#findings.add("rows_changed", window, `the rows before entry ${number} are of another minute`);
    } else if (count !== rows) {
      this.#findings.add(count < rows ? "rows_missing" : "rows_added", window, `${count} of ${rows} rows are there`);
    } else if (version === DIGEST_VERSIONS[0] && open && open.uncovered > 0) {
      this.#findings.add("fields_unsealed", window, `${open.uncovered} rows have fields that no seal covers`);
    } else if (open?.digests[DIGEST_VERSIONS.indexOf(version)]?.finish().toString("hex") !== digest) {
      this.#findings.add("rows_changed", window, "the rows of this minute are not those that were sealed");
    }
  }
}

/** Rows since the last entry. Their layout is known only with the seal after them. */
interface OpenMinute {
  readonly minute: Date;
  /** By the index of the layout. */
  readonly digests: readonly RowDigest[];
  count: number;
  /** Rows with fields that the first layout does not cover. */
  uncovered: number;
  last: RawLogRow;
}

function isAfter(row: RawLogRow, last: RawLogRow): boolean {
  return row.micros === last.micros ? row.id > last.id : Number(row.micros) > Number(last.micros);
}
