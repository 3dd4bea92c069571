import { MINUTE_MS } from "../base/clock.js";
import { type TenantId, timeOfUuid } from "../base/ids.js";
import { NO_SEAL } from "../crypto/log-seal.js";
import { hashOfSigned } from "../crypto/log-signing.js";
import { CURRENT_DIGEST, newRowDigest } from "../crypto/row-digest.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { HeadRow, SealRow } from "../store/audit/audit-seals.js";
import type { LogSnapshot } from "../store/audit/log-snapshot.js";
import { cellsOf, exceedsLayout } from "../store/audit/raw-log.js";
import { digestVersionOf, isOwnEntry, verifiedHead } from "./chain.js";
import { type Finding, Findings, readAcknowledged } from "./findings.js";
import { MinuteCounts } from "./minute-counts.js";
import { NO_BODY, readBody } from "./seal-body.js";
import { SealedGroups } from "./sealed-groups.js";
import { isOwnSignature } from "./sign-seals.js";

/** A seal seen earlier and stored out of reach of an attacker who can change the log. */
export interface SeenSeal {
  readonly number: number;
  readonly minute: Date;
  /** In hexadecimal. */
  readonly mac: string;
}

/** The content of an attestation of a tenant's chain in the vault's own chain. */
export interface AttestedSeal extends SeenSeal {
  /** Time of the attestation. */
  readonly at: Date;
}

export interface LogVerdict {
  readonly rows: number;
  readonly seals: number;
  /** Rows of the last minutes, which are not sealed yet and cannot be verified. */
  readonly unsealedRows: number;
  /** Older rows were removed after their retention. */
  readonly keptFrom: Date | undefined;
  /** The seal for a later comparison. Absent if there is no seal yet. */
  readonly lastSeal: SeenSeal | undefined;
  /** Where the log's time was set back after the clock had run fast. Absent if never. */
  readonly setBacks?: readonly { readonly at: Date; readonly to: Date }[];
  /** The first thousand. */
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  /** Findings that an operator acknowledged by restarting the chain. Absent if it has none. */
  readonly acknowledged?: readonly Finding[];
}

export interface VerifyOptions {
  /** The last seal that an earlier verification saw. */
  readonly seen: SeenSeal | undefined;
  /** The last seal that the vault's own chain names. */
  readonly attested?: AttestedSeal | undefined;
  /** A server has been running since this time: earlier rows should have a seal. */
  readonly sealedBy?: Date | undefined;
  /** Called with the number of rows read so far. */
  readonly onProgress: (rows: number) => void;
}

/** A tenant's chain begins with its own rows: a tenant id contains the time of its creation. */
const LATEST_BEGIN_MS = 10 * MINUTE_MS;

/**
 * Compares a tenant's log with its seals, minute by minute, in constant memory. Finds changes to rows or seals by
 * anyone without the tenant's key, and a truncated chain if it included an attested or `seen` seal.
 */
export async function verifyLog(
  snapshot: LogSnapshot,
  tenantId: TenantId,
  keys: TenantKeys,
  options: VerifyOptions,
): Promise<LogVerdict> {
  const verification = new Verification(snapshot, tenantId, keys, options);
  return verification.run();
}

class Verification {
  readonly #snapshot: LogSnapshot;
  readonly #tenantId: TenantId;
  readonly #keys: TenantKeys;
  readonly #options: VerifyOptions;
  readonly #findings = new Findings();
  readonly #acknowledged = new Findings();
  readonly #keptFrom: Date | undefined;
  readonly #isOwnHead: boolean;
  readonly #groups: SealedGroups;
  #awaited: SeenSeal[];
  #rows = 0;
  #seals = 0;
  #last: SealRow | undefined;

  constructor(snapshot: LogSnapshot, tenantId: TenantId, keys: TenantKeys, options: VerifyOptions) {
    this.#snapshot = snapshot;
    this.#tenantId = tenantId;
    this.#keys = keys;
    this.#options = options;
    const head = snapshot.head && verifiedHead(keys, tenantId, snapshot.head);
    this.#isOwnHead = head !== undefined;
    this.#keptFrom = head?.keptFrom;
    this.#groups = new SealedGroups(snapshot, (count) => {
      this.#rows += count;
      options.onProgress(this.#rows);
    });
    const { seen, attested } = options;
    const isSame = seen && attested && seen.number === attested.number && seen.mac === attested.mac;
    this.#awaited = [...(seen ? [seen] : []), ...(attested && !isSame ? [attested] : [])];
  }

  async run(): Promise<LogVerdict> {
    for await (const page of this.#snapshot.seals()) for (const seal of page) await this.#check(seal);
    // If nothing is left, one finding says so.
    const isGone = !this.#snapshot.head && !this.#last && this.#options.attested !== undefined;
    for (const { number, minute } of isGone ? [] : this.#awaited) {
      this.#findings.add("seal_missing", minute, `seal ${number}, which was seen before, is not there`);
    }
    this.#checkHead(this.#snapshot.head);
    const unsealedRows = await this.#checkUnsealed();
    const last = this.#last;
    const setBacks = this.#snapshot.setBacks.map(({ sealed_at, window_start }) => ({
      at: sealed_at,
      to: window_start,
    }));
    return {
      ...{ rows: this.#rows, seals: this.#seals, unsealedRows, keptFrom: this.#keptFrom },
      lastSeal: last && { number: last.number, minute: last.window_start, mac: last.mac.toString("hex") },
      ...(setBacks.length > 0 ? { setBacks } : {}),
      findings: this.#findings.list,
      findingCount: this.#findings.count,
      ...(this.#acknowledged.count > 0 ? { acknowledged: this.#acknowledged.list } : {}),
    };
  }

  async #check(seal: SealRow): Promise<void> {
    if (seal.kind === "minute" || seal.kind === "restart") await this.#findStrays(seal);
    this.#checkPlace(seal);
    if (!isOwnEntry(this.#keys, this.#tenantId, seal)) {
      this.#findings.add("seal_changed", seal.window_start, "the seal of this minute was not made by this vault");
    } else this.#checkSignature(seal);
    if (seal.kind === "minute") await this.#checkRows(seal);
    this.#awaited = this.#awaited.filter(
      ({ number, mac }) => number !== seal.number || mac !== seal.mac.toString("hex"),
    );
    if (seal.kind === "restart") this.#acknowledge(seal);
    this.#last = seal;
    this.#seals += 1;
  }

  #checkSignature(seal: SealRow): void {
    const { number, window_start, signed_body } = seal;
    if (signed_body === null) {
      // Earlier releases, which did not sign, made only digests of the first layout.
      if (seal.digest_version === 1) return;
      this.#findings.add("seal_changed", window_start, `the signature of seal ${number} is gone`);
      return;
    }
    const last = this.#last?.number === number - 1 ? this.#last.signed_body : null;
    const expected = last === null ? NO_BODY : hashOfSigned(last);
    // If the entry before is gone or unsigned, its hash is not known here.
    const isPlaced = (number > 1 && last === null) || readBody(signed_body)?.previous.hash === expected;
    if (isPlaced && isOwnSignature(this.#keys, this.#tenantId, seal)) return;
    this.#findings.add("seal_changed", window_start, `the signature of seal ${number} is not the vault's`);
  }

  /** An operator, who holds the root key, knew these findings when restarting the chain. */
  #acknowledge(restart: SealRow): void {
    this.#findings.acknowledge(readAcknowledged(restart), this.#acknowledged);
    const isPast = ({ number }: SeenSeal) => number < restart.number;
    for (const { number, minute } of this.#awaited.filter(isPast)) {
      this.#acknowledged.add("seal_missing", minute, `seal ${number}, which was seen before, is not there`);
    }
    this.#awaited = this.#awaited.filter((seen) => !isPast(seen));
  }

  /** Rows between sealed minutes that belong to none of them. */
  async #findStrays(seal: SealRow): Promise<void> {
    const strays = new MinuteCounts();
    await this.#groups.take(seal, seal.window_start, (row) => strays.add(row));
    for (const { minute, count } of strays.list) {
      // Rows left of removed minutes are about to be deleted.
      if (this.#keptFrom && minute < this.#keptFrom) continue;
      this.#findings.add("rows_unsealed", minute, `${numbered(count, "row")} in a minute that has no seal`);
    }
  }

  #checkPlace(seal: SealRow): void {
    const last = this.#last;
    const findings = this.#findings;
    const expected = (last?.number ?? 0) + 1;
    // A restarted chain skips a number, and follows what was left at its restart.
    if (seal.kind !== "restart" && seal.number > expected) {
      const gone = numbered(seal.number - expected, "seal");
      const since = last ? `after ${last.window_start.toISOString()}` : "at the beginning";
      findings.add("seal_missing", seal.window_start, `${gone} between this minute and the one ${since} are gone`);
    } else if (seal.number < expected) {
      findings.add("seal_changed", seal.window_start, `seal ${seal.number} is in the place of seal ${expected}`);
    } else if (!seal.previous.equals(last?.mac ?? NO_SEAL)) {
      findings.add("seal_changed", seal.window_start, "the seal of this minute does not follow the one before");
    }
    if (!last && seal.number === 1 && seal.kind === "minute") this.#checkBegin(seal);
  }

  #checkBegin({ window_start }: SealRow): void {
    const made = timeOfUuid(this.#tenantId);
    if (!made || window_start.getTime() <= made.getTime() + LATEST_BEGIN_MS) return;
    // Rows removed before the first seal prove nothing.
    if (this.#keptFrom && this.#keptFrom >= window_start) return;
    this.#findings.add(
      "chain_late",
      window_start,
      `the tenant was made at ${made.toISOString()}, and its first seal is of this minute`,
    );
  }

  async #checkRows(seal: SealRow): Promise<void> {
    const start = seal.window_start;
    const version = digestVersionOf(seal) ?? CURRENT_DIGEST;
    const digest = newRowDigest(version, this.#tenantId, start);
    let uncovered = 0;
    await this.#groups.take(seal, new Date(start.getTime() + MINUTE_MS), (row) => {
      digest.add(cellsOf(row, version));
      if (exceedsLayout(row, version)) uncovered += 1;
    });
    if (this.#keptFrom && start < this.#keptFrom) return;
    this.#checkUncovered(start, uncovered);
    const { count } = digest;
    const findings = this.#findings;
    if (count < seal.row_count) {
      const missing = numbered(seal.row_count - count, "row");
      findings.add("rows_missing", start, `${missing} of ${seal.row_count} missing, if the others are unchanged`);
    } else if (count > seal.row_count) {
      const added = numbered(count - seal.row_count, "row");
      findings.add("rows_added", start, `${added} more than the ${seal.row_count} that were sealed`);
    } else if (!digest.finish().equals(seal.digest)) {
      findings.add(
        "rows_changed",
        start,
        `the ${numbered(count, "row")} of this minute are not those that were sealed`,
      );
    }
  }

  #checkUncovered(start: Date, count: number): void {
    if (count === 0) return;
    const detail = `${numbered(count, "row")} with fields that the seal of this minute, of an earlier release, does not cover`;
    this.#findings.add("fields_unsealed", start, detail);
  }

  #checkHead(head: HeadRow | undefined): void {
    const last = this.#last;
    const minute = last?.window_start;
    const findings = this.#findings;
    if (!head) {
      if (last) findings.add("end_changed", minute, "the record of where the chain ends is gone");
      else if (this.#options.attested) {
        const { attested } = this.#options;
        const detail = `the log had ${attested.number} seals at ${attested.at.toISOString()}, and none is left`;
        findings.add("chain_missing", undefined, detail);
      }
    } else if (!this.#isOwnHead) {
      findings.add("end_changed", minute, "the record of where the chain ends was not made by this vault");
    } else if (head.number > (last?.number ?? 0)) {
      const gone = numbered(head.number - (last?.number ?? 0), "seal");
      findings.add("seal_missing", minute, `${gone} after ${minute ? "this minute" : "the beginning"} are gone`);
    } else if (head.number < (last?.number ?? 0) || !head.last_mac.equals(last?.mac ?? NO_SEAL)) {
      findings.add("end_changed", minute, "the record of where the chain ends is not that of its last seal");
    }
  }

  /** Checks rows without a seal: of the last minutes, or of minutes that no server sealed. */
  async #checkUnsealed(): Promise<number> {
    const { sealedBy } = this.#options;
    const late = new MinuteCounts();
    let count = 0;
    await this.#groups.takeRest((row) => {
      count += 1;
      if (sealedBy && Number(row.micros) / 1_000 < sealedBy.getTime()) late.add(row);
    });
    for (const { minute, count: rows } of late.list) {
      if (this.#keptFrom && minute < this.#keptFrom) continue;
      const detail = `${numbered(rows, "row")} in a minute that no server has sealed, although one is running`;
      this.#findings.add("rows_unsealed", minute, detail);
    }
    for (const { minute, count: rows } of this.#groups.unknown.list) {
      this.#findings.add("rows_added", minute, `${numbered(rows, "row")} set aside by a seal that is not there`);
    }
    return count;
  }
}

function numbered(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
