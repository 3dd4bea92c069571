import { createHash } from "node:crypto";
import { lengthPrefixed } from "../../crypto/bytes.js";

/**
 * Findings of a verification:
 * - `rows_changed`, `rows_missing`, `rows_added`: a minute's rows differ from the sealed ones
 * - `rows_unsealed`: rows in a minute without a seal, although later ones have seals, or although a server has been
 *   running for more than five minutes since
 * - `seal_missing`: a seal was removed, from the middle or the end
 * - `seal_changed`: a seal that the vault did not make, or not for this position
 * - `end_changed`: the record of the chain's end is gone, or was changed
 * - `chain_missing`: the tenant had seals, and all are gone
 * - `chain_late`: the first seal is much later than the tenant's creation
 * - `vault_changed`: the vault's own record of tenants and their seals was truncated or changed
 * - `keys_closed`: the tenant's keys do not open, which makes its seals unverifiable
 * - `tenant_gone`: a tenant that existed before is deleted, or missing
 * - `rights_changed`: a row of a member, passkey, application, key or invitation is not the one that the log ends with
 *
 * Of an archived month or an export, also:
 * - `file_changed`: the file is not as it was written
 *
 * Of an archived month alone:
 * - `file_missing`: the file is gone, or cannot be read
 *
 * Of an export alone:
 * - `key_changed`: it is signed by another key than the tenant's
 * - `range_incomplete`: parts of the range that the file names are left out
 * - `stamp_wrong`: a time stamp that does not cover its entry, or that no trusted authority made
 */
export type FindingKind =
  | "rows_changed"
  | "rows_missing"
  | "rows_added"
  | "rows_unsealed"
  | "seal_missing"
  | "seal_changed"
  | "end_changed"
  | "chain_missing"
  | "chain_late"
  | "vault_changed"
  | "keys_closed"
  | "tenant_gone"
  | "rights_changed"
  | "file_changed"
  | "file_missing"
  | "key_changed"
  | "range_incomplete"
  | "stamp_wrong";

export interface Finding {
  readonly kind: FindingKind;
  /** The start of the minute. Absent if unknown. */
  readonly minute: Date | undefined;
  /** A sentence for the operator, without a full stop. Acknowledgements hash it: see {@link writeAcknowledged}. */
  readonly detail: string;
}

/** Bounds the memory for a chain that was tampered with everywhere. */
const MAX_FINDINGS = 1_000;

/** Findings in the order in which they were made: the first thousand, and their total number. */
export class Findings {
  #list: Finding[] = [];
  #count = 0;

  get list(): readonly Finding[] {
    return this.#list;
  }

  get count(): number {
    return this.#count;
  }

  add(kind: FindingKind, minute: Date | undefined, detail: string): void {
    this.#count += 1;
    if (this.#list.length < MAX_FINDINGS) this.#list.push({ kind, minute, detail });
  }

  addAll(others: Findings): void {
    for (const { kind, minute, detail } of others.#list) this.add(kind, minute, detail);
    this.#count += others.#count - others.#list.length;
  }

  /** Moves acknowledged findings to another list. Beyond the first thousand it compares only the number. */
  acknowledge({ hashes, count }: Acknowledged, other: Findings): void {
    const [list, unlisted] = [this.#list, this.#count - this.#list.length];
    const known = Math.min(unlisted, Math.max(0, count - hashes.size));
    this.#list = [];
    this.#count = unlisted - known;
    other.#count += known;
    for (const finding of list) {
      const target = hashes.has(findingHash(finding).toString("hex")) ? other : this;
      target.add(finding.kind, finding.minute, finding.detail);
    }
  }
}

/** The findings that an operator knew when restarting a chain. */
export interface Acknowledged {
  /** In hexadecimal. */
  readonly hashes: ReadonlySet<string>;
  readonly count: number;
}

const HASH_BYTES = 16;

/** Encodes findings for a restart entry: findings of a later time are not acknowledged. */
export function writeAcknowledged(findings: readonly Finding[]): Buffer {
  return Buffer.concat(findings.map(findingHash));
}

export function readAcknowledged({
  digest,
  row_count,
}: {
  readonly digest: Buffer;
  readonly row_count: number;
}): Acknowledged {
  const hashes = new Set<string>();
  for (let at = 0; at < digest.length; at += HASH_BYTES) {
    hashes.add(digest.subarray(at, at + HASH_BYTES).toString("hex"));
  }
  return { hashes, count: row_count };
}

function findingHash({ kind, minute, detail }: Finding): Buffer {
  const parts = [kind, minute?.toISOString() ?? "", detail];
  return createHash("sha256").update(lengthPrefixed(parts)).digest().subarray(0, HASH_BYTES);
}
