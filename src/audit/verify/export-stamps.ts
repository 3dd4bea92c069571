import type { X509Certificate } from "node:crypto";
import { anchorRoot } from "../../crypto/anchor-tree.js";
import { verifyTimeStamp } from "../../crypto/time-stamp.js";
import { TimeStampInvalid } from "../../crypto/time-stamp-invalid.js";
import type { Findings } from "../chain/findings.js";
import type { StampLine } from "../export/export-format.js";

/** A stamp that is older than its entry by more than this is not one of it: clocks may differ by ten minutes. */
const MAX_APART_MS = 10 * 60_000;

export interface StampedEntry {
  readonly number: number;
  readonly window: Date;
  readonly hash: string;
  readonly signedAt: Date;
}

export class ExportStamps {
  readonly #trusted: readonly X509Certificate[] | undefined;
  readonly #findings: Findings;
  verified = 0;
  /** Without certificates, nothing can be said about a time stamp. */
  unverified = 0;
  /** What the last verified stamp proves: rows before `until` existed at `at`. */
  last: { readonly until: Date; readonly at: Date } | undefined;

  /** @param trusted authorities, from another source than the file. */
  constructor(trusted: readonly X509Certificate[] | undefined, findings: Findings) {
    this.#trusted = trusted;
    this.#findings = findings;
  }

  /**
   * @param entry the one before the stamp in the file.
   * @param until the end of the rows up to that entry. Absent: the range has none.
   */
  add({ number, proof, token }: StampLine, entry: StampedEntry | undefined, until: Date | undefined): void {
    const root = entry?.number === number ? anchorRoot(entry.hash, proof) : undefined;
    if (!entry || !root) {
      this.#findings.add(
        "stamp_wrong",
        entry?.window,
        `a time stamp is not one of entry ${entry?.number ?? 0} before it`,
      );
      return;
    }
    if (!this.#trusted) {
      this.unverified += 1;
      return;
    }
    try {
      const { time } = verifyTimeStamp(Buffer.from(token, "base64"), root, this.#trusted);
      if (time.getTime() < entry.signedAt.getTime() - MAX_APART_MS) {
        throw new TimeStampInvalid("it is older than the entry");
      }
      this.verified += 1;
      if (until) this.last = { until, at: time };
    } catch (error) {
      if (!(error instanceof TimeStampInvalid)) throw error;
      this.#findings.add(
        "stamp_wrong",
        entry.window,
        `the time stamp of entry ${number} is not valid: ${error.message}`,
      );
    }
  }
}
