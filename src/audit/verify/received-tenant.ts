import { hash, type KeyObject } from "node:crypto";
import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { hashOfSigned, isLogSignature } from "../../crypto/log-signing.js";
import type { RawLogRow } from "../../store/audit/raw-log.js";
import { minuteStart } from "../chain/minute-counts.js";
import type { SealBody } from "../chain/seal-body.js";
import { LogWalk } from "./log-walk.js";

/** A sink repeats at most two batches of 500 records. */
const REPEATED = 1_000;

export interface ReceivedRow {
  readonly row: RawLogRow;
  readonly line: string;
}

export interface ReceivedSeal {
  readonly body: SealBody;
  readonly text: string;
  readonly signature: Buffer;
}

/** One tenant's part of the log that a sink got: rows and seals in their order, some of them twice. */
export class ReceivedTenant {
  readonly #repeatable = new Map<string, string>();
  readonly walk: LogWalk;
  /** Some entry is signed by a given key. */
  isSigned = false;
  repeated = 0;
  first: number | undefined;
  /** Rows of the first minute are in an earlier file. */
  beginsInMinute = false;
  sealedUntil: Date | undefined;

  constructor(tenantId: TenantId) {
    this.walk = new LogWalk({ tenantId });
  }

  row({ row, line }: ReceivedRow): void {
    if (!this.#isRepeated(row.id, line, row)) this.walk.row(row);
  }

  seal({ body, text, signature }: ReceivedSeal, key: KeyObject): void {
    this.isSigned = true;
    const { number, kind, window } = body;
    const forged = isLogSignature(key, text, signature) ? undefined : `the signature of entry ${number} is wrong`;
    if (!forged && this.#isRepeated(`entry ${number}`, text, undefined)) return;
    const isMinute = kind === "minute";
    const isPartly = isMinute && !this.walk.last && number > 1 && this.walk.openRows < body.rows;
    this.beginsInMinute ||= isPartly;
    const there = isMinute ? "all" : "none";
    this.walk.entry({ ...body, hash: hashOfSigned(text), forged }, isPartly ? "some" : there);
    this.sealedUntil = isMinute ? new Date(window.getTime() + MINUTE_MS) : window;
    this.first ??= number;
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
    const detail = "a record is there twice, with different content";
    if (known !== own) this.walk.findings.add(kind, row && minuteStart(row), detail);
    return true;
  }
}
