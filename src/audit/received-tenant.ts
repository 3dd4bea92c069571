import { hash, type KeyObject } from "node:crypto";
import { MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { hashOfSigned, isLogSignature } from "../crypto/log-signing.js";
import { CURRENT_DIGEST, newRowDigest, type RowDigest } from "../crypto/row-digest.js";
import { cellsOf, type RawLogRow } from "../store/audit/raw-log.js";
import { Findings } from "./findings.js";
import { minuteOf } from "./minute-counts.js";
import type { SealBody } from "./seal-body.js";

/** A sink repeats at most two batches of 500 records. */
const REPEATED = 1_000;

/** A row, and the line that it was read from. */
export interface ReceivedRow {
  readonly row: RawLogRow;
  readonly line: string;
}

/** An entry of the chain, with the signed text that it was read from. */
export interface ReceivedSeal {
  readonly body: SealBody;
  readonly text: string;
  readonly signature: Buffer;
}

/** One tenant's part of the log that a sink got: rows and seals in their order, some of them twice. */
export class ReceivedTenant {
  readonly #tenantId: TenantId;
  readonly #repeatable = new Map<string, string>();
  readonly findings = new Findings();
  #open: { readonly minute: Date; readonly digest: RowDigest; last: RawLogRow } | undefined;
  #last: (Pick<SealBody, "number" | "mac"> & { readonly hash: string }) | undefined;
  #sealedMinute: Date | undefined;
  /** Some entry is signed by a given key. */
  isSigned = false;
  rows = 0;
  repeated = 0;
  entries = 0;
  unsignedEntries = 0;
  unknownLayouts = 0;
  first: number | undefined;
  /** Rows of the first minute are in an earlier file. */
  beginsInMinute = false;
  sealedUntil: Date | undefined;

  constructor(tenantId: TenantId) {
    this.#tenantId = tenantId;
  }

  /** Rows at the end that no seal follows. */
  get unsealedRows(): number {
    return this.#open?.digest.count ?? 0;
  }

  row({ row, line }: ReceivedRow): void {
    if (this.#isRepeated(row.id, line, row)) return;
    const minute = minuteOf(row);
    this.rows += 1;
    if (this.#sealedMinute && minute <= this.#sealedMinute) {
      this.findings.add("rows_added", minute, "a row is of a minute that was sealed before");
      return;
    }
    if (this.#open && this.#open.minute.getTime() !== minute.getTime()) {
      this.findings.add(
        "rows_unsealed",
        this.#open.minute,
        "rows of another minute follow without a seal between them",
      );
      this.#open = undefined;
    }
    if (this.#open && !isAfter(row, this.#open.last)) {
      this.findings.add("rows_changed", minute, "the rows of this minute are not in their order");
    }
    this.#open ??= { minute, digest: newRowDigest(CURRENT_DIGEST, this.#tenantId, minute), last: row };
    this.#open.digest.add(cellsOf(row, CURRENT_DIGEST));
    this.#open.last = row;
  }

  seal({ body, text, signature }: ReceivedSeal, key: KeyObject): void {
    this.isSigned = true;
    const { number, window } = body;
    if (!isLogSignature(key, text, signature)) {
      this.findings.add("seal_changed", window, `the signature of entry ${number} is wrong`);
      return;
    }
    if (this.#isRepeated(`entry ${number}`, text, undefined)) return;
    this.#checkPlace(body);
    if (body.kind === "minute") this.#checkRows(body);
    else if (this.#open) this.findings.add("rows_unsealed", this.#open.minute, "rows precede an entry that has none");
    this.#sealedMinute = body.kind === "minute" ? window : undefined;
    this.sealedUntil = body.kind === "minute" ? new Date(window.getTime() + MINUTE_MS) : window;
    this.first ??= number;
    this.entries += 1;
    this.#last = { number, mac: body.mac, hash: hashOfSigned(text) };
    this.#open = undefined;
  }

  unsigned(): void {
    this.unsignedEntries += 1;
    this.#open = undefined;
  }

  /** A record that the sink got twice is the same both times. */
  #isRepeated(id: string, text: string, row: RawLogRow | undefined): boolean {
    const [own, known] = [hash("sha256", text, "base64"), this.#repeatable.get(id)];
    if (known === undefined) {
      this.#repeatable.set(id, own);
      const [oldest] = this.#repeatable.keys();
      if (oldest !== undefined && this.#repeatable.size > REPEATED) this.#repeatable.delete(oldest);
      return false;
    }
    this.repeated += 1;
    const kind = row ? "rows_changed" : "seal_changed";
    if (known !== own) this.findings.add(kind, row && minuteOf(row), "a record is there twice, with different content");
    return true;
  }

  #checkPlace({ number, window, after, previous }: SealBody): void {
    const last = this.#last;
    if (!last) return;
    if (number !== last.number + 1) {
      this.findings.add("seal_missing", window, `entry ${number} is where entry ${last.number + 1} belongs`);
    } else if (after !== last.mac || previous.number !== last.number || previous.hash !== last.hash) {
      this.findings.add("seal_changed", window, `entry ${number} does not follow the entry before`);
    }
  }

  #checkRows({ number, window, rows, layout, digest }: SealBody): void {
    const open = this.#open;
    const count = open?.digest.count ?? 0;
    if (!this.#last && number > 1 && count < rows) {
      this.beginsInMinute = true;
    } else if (layout !== CURRENT_DIGEST) {
      this.unknownLayouts += 1;
    } else if (open && open.minute.getTime() !== window.getTime()) {
      this.findings.add("rows_changed", window, `the rows before entry ${number} are of another minute`);
    } else if (count !== rows) {
      this.findings.add(count < rows ? "rows_missing" : "rows_added", window, `${count} of ${rows} rows are there`);
    } else if (open?.digest.finish().toString("hex") !== digest) {
      this.findings.add("rows_changed", window, "the rows of this minute are not the sealed ones");
    }
  }
}

function isAfter(row: RawLogRow, last: RawLogRow): boolean {
  return row.micros === last.micros ? row.id > last.id : Number(row.micros) > Number(last.micros);
}
