import { MINUTE_MS } from "../../base/clock.js";
import { timeOfUuid } from "../../base/ids.js";
import { unknownFormat } from "../../crypto/bytes.js";
import { type ChainHead, SEAL_FORMAT } from "../../crypto/log-seal.js";
import { hashOfSigned } from "../../crypto/log-signing.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { SealRow } from "../../store/audit/audit-seals.js";
import type { LogSnapshot } from "../../store/audit/log-snapshot.js";
import { isOwnEntry, verifiedHead } from "../chain/chain.js";
import { type Finding, Findings, readAcknowledged } from "../chain/findings.js";
import { MinuteCounts } from "../chain/minute-counts.js";
import { readBody } from "../chain/seal-body.js";
import { SealedRows } from "../chain/sealed-rows.js";
import { isOwnSignature, sealContent } from "../chain/sign-seals.js";
import { BEGINNING, LogWalk, numbered, type WalkedEntry } from "./log-walk.js";

/** A seal seen earlier and stored out of reach of an attacker who can change the log. */
export interface SeenSeal {
  readonly number: number;
  readonly minute: Date;
  /** In hexadecimal. */
  readonly mac: string;
}

/** The content of an attestation of a tenant's chain in the vault's own chain. */
export interface AttestedSeal extends SeenSeal {
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
  readonly onProgress: (rows: number) => void;
}

/** A tenant's chain begins with its own rows: a tenant id contains the time of its creation. */
const LATEST_BEGIN_MS = 10 * MINUTE_MS;

/**
 * Compares a tenant's log with its seals, minute by minute, in constant memory. Finds changes to rows or seals by
 * anyone without the tenant's key, and a truncated chain if it included an attested or `seen` seal.
 */
export async function verifyLog(snapshot: LogSnapshot, keys: TenantKeys, options: VerifyOptions): Promise<LogVerdict> {
  return new StoredLog(snapshot, keys, options).verify();
}

/** The log in the database, with what only the vault knows of it: its MACs, its head, its attestations. */
class StoredLog {
  readonly #snapshot: LogSnapshot;
  readonly #keys: TenantKeys;
  readonly #options: VerifyOptions;
  readonly #head: ChainHead | undefined;
  readonly #walk: LogWalk;
  readonly #findings: Findings;
  readonly #acknowledged = new Findings();
  readonly #rows: SealedRows;
  #awaited: SeenSeal[];
  #count = 0;

  constructor(snapshot: LogSnapshot, keys: TenantKeys, options: VerifyOptions) {
    this.#snapshot = snapshot;
    this.#keys = keys;
    this.#options = options;
    this.#head = snapshot.head && verifiedHead(keys, snapshot.head);
    this.#walk = new LogWalk({
      tenantId: keys.tenantId,
      first: 1,
      mayRestartSkip: true,
      keptFrom: this.#head?.keptFrom,
    });
    this.#findings = this.#walk.findings;
    this.#rows = new SealedRows(snapshot, (count) => {
      this.#count += count;
      options.onProgress(this.#count);
    });
    const { seen, attested } = options;
    const isSame = seen && attested && seen.number === attested.number && seen.mac === attested.mac;
    this.#awaited = [...(seen ? [seen] : []), ...(attested && !isSame ? [attested] : [])];
  }

  async verify(): Promise<LogVerdict> {
    for await (const page of this.#snapshot.seals()) for (const seal of page) await this.#check(seal);
    const { last } = this.#walk;
    // If nothing is left, one finding says so.
    const isGone = !this.#snapshot.head && !last && this.#options.attested !== undefined;
    for (const seen of isGone ? [] : this.#awaited) addMissing(this.#findings, seen);
    this.#checkEnd();
    const unsealedRows = await this.#checkUnsealed();
    const setBacks = this.#snapshot.setBacks.map(({ sealed_at, window_start }) => ({
      at: sealed_at,
      to: window_start,
    }));
    return {
      rows: this.#count,
      seals: this.#walk.entries,
      unsealedRows,
      keptFrom: this.#head?.keptFrom,
      lastSeal: last && { number: last.number, minute: last.window, mac: last.mac },
      ...(setBacks.length > 0 ? { setBacks } : {}),
      findings: this.#findings.list,
      findingCount: this.#findings.count,
      ...(this.#acknowledged.count > 0 ? { acknowledged: this.#acknowledged.list } : {}),
    };
  }

  async #check(seal: SealRow): Promise<void> {
    const isMinute = seal.kind === "minute";
    const until = isMinute ? new Date(seal.window_start.getTime() + MINUTE_MS) : seal.window_start;
    if (seal.kind !== "set_back") {
      for await (const rows of this.#rows.before(seal, until)) for (const row of rows) this.#walk.row(row);
    }
    if (isMinute && seal.number === 1 && !this.#walk.last) this.#checkBegin(seal);
    this.#walk.entry(this.#entryOf(seal), isMinute ? "all" : "none");
    const mac = seal.mac.toString("hex");
    this.#awaited = this.#awaited.filter((seen) => seen.number !== seal.number || seen.mac !== mac);
    if (seal.kind === "restart") this.#acknowledge(seal);
  }

  #entryOf(seal: SealRow): WalkedEntry {
    return {
      ...sealContent(seal),
      previous: readBody(seal.signed_body ?? "")?.previous,
      hash: seal.signed_body === null ? undefined : hashOfSigned(seal.signed_body),
      forged: this.#whyForged(seal),
    };
  }

  #whyForged(seal: SealRow): string | undefined {
    const { number, version, signed_body } = seal;
    if (version !== SEAL_FORMAT) return unknownFormat("this seal", version, SEAL_FORMAT);
    if (!isOwnEntry(this.#keys, seal)) return `entry ${number} was not made by this vault`;
    if (signed_body === null) return `the signature of entry ${number} is gone`;
    return isOwnSignature(this.#keys, seal) ? undefined : `the signature of entry ${number} is wrong`;
  }

  /** An operator, who holds the root key, knew these findings when restarting the chain. */
  #acknowledge(restart: SealRow): void {
    this.#findings.acknowledge(readAcknowledged(restart), this.#acknowledged);
    const isPast = ({ number }: SeenSeal) => number < restart.number;
    for (const seen of this.#awaited.filter(isPast)) addMissing(this.#acknowledged, seen);
    this.#awaited = this.#awaited.filter((seen) => !isPast(seen));
  }

  #checkBegin({ window_start }: SealRow): void {
    const made = timeOfUuid(this.#keys.tenantId);
    if (!made || window_start.getTime() <= made.getTime() + LATEST_BEGIN_MS) return;
    // Rows removed before the first seal prove nothing.
    const keptFrom = this.#head?.keptFrom;
    if (keptFrom && keptFrom >= window_start) return;
    const detail = `the tenant was made at ${made.toISOString()}, and its first seal is of this minute`;
    this.#findings.add("chain_late", window_start, detail);
  }

  /** The head says where the chain ends. */
  #checkEnd(): void {
    const { last } = this.#walk;
    const { head } = this.#snapshot;
    const { attested } = this.#options;
    const number = last?.number ?? 0;
    const changed = (detail: string) => this.#findings.add("end_changed", last?.window, detail);
    if (!head && last) {
      changed("the record of where the chain ends is gone");
    } else if (!head) {
      const had = attested
        ? `the log had ${attested.number} seals at ${attested.at.toISOString()}`
        : "each log has one";
      this.#findings.add("chain_missing", undefined, `the chain is gone: ${had}`);
    } else if (head.version !== SEAL_FORMAT) {
      changed(unknownFormat("the record of where the chain ends", head.version, SEAL_FORMAT));
    } else if (!this.#head) {
      changed("the record of where the chain ends was not made by this vault");
    } else if (head.number > number) {
      const detail = `the chain ends before entry ${head.number} of its record`;
      this.#findings.add("seal_missing", last?.window, detail);
    } else if (head.number < number || head.last_mac.toString("hex") !== (last?.mac ?? BEGINNING.mac)) {
      changed("the record of where the chain ends is not that of its last entry");
    }
  }

  /** Checks rows without a seal: of the last minutes, or of minutes that no server sealed. */
  async #checkUnsealed(): Promise<number> {
    const { sealedBy } = this.#options;
    const late = new MinuteCounts();
    let count = 0;
    await this.#rows.takeRest((row) => {
      count += 1;
      if (sealedBy && Number(row.micros) / 1_000 < sealedBy.getTime()) late.add(row);
    });
    const keptFrom = this.#head?.keptFrom;
    for (const { minute, count: rows } of late.list) {
      if (keptFrom && minute < keptFrom) continue;
      const detail = `${numbered(rows, "row")} in a minute that no server has sealed, although one is running`;
      this.#findings.add("rows_unsealed", minute, detail);
    }
    for (const { minute, count: rows } of this.#rows.unknown.list) {
      this.#findings.add("rows_added", minute, `${numbered(rows, "row")} set aside by a seal that is not there`);
    }
    // Its creation leaves rows in the log of each tenant.
    if (this.#count === 0 && !this.#walk.last && this.#snapshot.head) {
      this.#findings.add("chain_missing", undefined, "the log is empty, without the rows of the tenant's creation");
    }
    return count;
  }
}

function addMissing(findings: Findings, { number, minute }: SeenSeal): void {
  findings.add("seal_missing", minute, `seal ${number}, which was seen before, is not there`);
}
