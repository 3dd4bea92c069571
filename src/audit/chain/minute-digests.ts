import type { TenantId } from "../../base/ids.js";
import type { SealedMinute } from "../../crypto/log-seal.js";
import { RowDigest } from "../../crypto/row-digest.js";
import { type RawLogRow, rowCells } from "../../store/audit/raw-log.js";
import { minuteStart } from "./minute-counts.js";
import { RowCounts } from "./row-counts.js";

/** A minute with its row count and digest, and what its rows say, before it has a position in the chain. */
export interface CountedMinute extends Pick<SealedMinute, "windowStart" | "rowCount" | "digest"> {
  readonly counts: RowCounts;
}

export class MinuteDigests {
  readonly #tenantId: TenantId;
  #open: { readonly windowStart: Date; readonly digest: RowDigest; readonly counts: RowCounts } | undefined;
  #counted: CountedMinute[] = [];

  constructor(tenantId: TenantId) {
    this.#tenantId = tenantId;
  }

  add(row: RawLogRow): void {
    const windowStart = minuteStart(row);
    if (this.#open?.windowStart.getTime() !== windowStart.getTime()) {
      this.#close();
      this.#open = { windowStart, digest: new RowDigest(this.#tenantId), counts: new RowCounts() };
    }
    this.#open.digest.add(rowCells(row));
    this.#open.counts.add(row);
  }

  /** The minutes that are complete, each once. */
  take(): readonly CountedMinute[] {
    const counted = this.#counted;
    this.#counted = [];
    return counted;
  }

  /** The minutes that were not taken, after the last row. */
  finish(): readonly CountedMinute[] {
    this.#close();
    return this.take();
  }

  #close(): void {
    if (!this.#open) return;
    const { windowStart, digest, counts } = this.#open;
    this.#open = undefined;
    this.#counted.push({ windowStart, rowCount: digest.count, digest: digest.finish(), counts });
  }
}
