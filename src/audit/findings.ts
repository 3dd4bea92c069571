import { createHash } from "node:crypto";
import { lengthPrefixed } from "../crypto/bytes.js";

/**
 * What verification can find:
 * - `rows_changed`, `rows_missing`, `rows_added`: a minute's rows are not those that were sealed
 * - `rows_unsealed`: rows in a minute that has no seal, although later ones have, or although a server has been running for
 *   more than five minutes since
 * - `seal_missing`: a seal was taken out, or off the end
 * - `seal_changed`: a seal that the vault did not make, or not in this place
 * - `end_changed`: the record of where the chain ends is gone, or was changed
 * - `chain_missing`: the tenant had seals, and none is left
 * - `chain_late`: the first seal is of a later time than the tenant
 * - `vault_changed`: the vault's own record of tenants and their seals was cut or changed
 * - `keys_closed`: the tenant's keys do not open, so that its seals cannot be checked
 * - `tenant_gone`: a tenant that was there before is deleted, or not there at all
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
  | "tenant_gone";

export interface Finding {
  readonly kind: FindingKind;
  /** The first moment of the minute. Absent where it cannot be told. */
  readonly minute: Date | undefined;
  /** A sentence for the operator, without a full stop. */
  readonly detail: string;
}

/** A chain that was tampered with everywhere must not fill the memory. */
const MOST = 1_000;

/** Findings in the order in which they were made: the first thousand, and how many there are. */
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
    if (this.#list.length < MOST) this.#list.push({ kind, minute, detail });
  }

  /** Moves what an operator has acknowledged to another list. Beyond the first thousand only the number is compared. */
  acknowledge({ hashes, count }: Acknowledged, other: Findings): void {
    const [list, unlisted] = [this.#list, this.#count - this.#list.length];
    const known = Math.min(unlisted, Math.max(0, count - hashes.size));
    this.#list = [];
    this.#count = unlisted - known;
    other.#count += known;
    for (const finding of list) {
      const target = hashes.has(hashOf(finding).toString("hex")) ? other : this;
      target.add(finding.kind, finding.minute, finding.detail);
    }
  }
}

/** The findings that an operator knew when he had a chain go on. */
export interface Acknowledged {
  /** In hexadecimal. */
  readonly hashes: ReadonlySet<string>;
  readonly count: number;
}

const HASH_BYTES = 16;

/** Findings as a restarted chain keeps them: those that come later are no part of what was acknowledged. */
export function writeAcknowledged(findings: readonly Finding[]): Buffer {
  return Buffer.concat(findings.map(hashOf));
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

function hashOf({ kind, minute, detail }: Finding): Buffer {
  const parts = [kind, minute?.toISOString() ?? "", detail];
  return createHash("sha256").update(lengthPrefixed(parts)).digest().subarray(0, HASH_BYTES);
}
