import type { Findings } from "../chain/findings.js";
import type { Manifest } from "../export/export-format.js";
import { type WalkedEntry, whyMisplaced } from "./log-walk.js";

export interface EarlierExport {
  readonly manifest: Manifest;
  /** Its last entry of the chain. */
  readonly last: WalkedEntry;
}

/** Checks that an export continues an earlier one: both have an entry in common, or the next one follows. */
export class Continuation {
  readonly #earlier: EarlierExport;
  readonly #findings: Findings;
  #isJoined = false;

  constructor(earlier: EarlierExport, findings: Findings) {
    this.#earlier = earlier;
    this.#findings = findings;
  }

  entry(entry: WalkedEntry): void {
    const { last } = this.#earlier;
    if (entry.number === last.number) {
      this.#isJoined = true;
      if (entry.mac === last.mac && entry.hash === last.hash) return;
      this.#findings.add("seal_changed", entry.window, `entry ${entry.number} is another one in the earlier file`);
    } else if (entry.number === last.number + 1 && !this.#isJoined) {
      this.#isJoined = true;
      const misplaced = whyMisplaced(entry, last, {});
      if (misplaced) this.#findings.add(misplaced.kind, entry.window, `${misplaced.detail}, in the earlier file`);
    }
  }

  finish({ first, head }: Manifest): void {
    if (this.#isJoined) return;
    const { number } = this.#earlier.last;
    const detail =
      head < number
        ? `the chain ends at entry ${head}, and the earlier file has entry ${number}`
        : `the earlier file ends with entry ${number}, and this one begins with entry ${first}`;
    this.#findings.add("seal_missing", undefined, detail);
  }
}
