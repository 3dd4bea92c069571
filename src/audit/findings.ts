/**
 * What verification can find:
 * - `rows_changed`, `rows_missing`, `rows_added`: a minute's rows are not those that were sealed
 * - `rows_unsealed`: rows in a minute that has no seal, although later ones have
 * - `seal_missing`: a seal was taken out, or off the end
 * - `seal_changed`: a seal that we did not make, or not in this place
 * - `end_changed`: the record of where the chain ends is gone, or was changed
 * - `keys_closed`: the tenant's keys do not open, so that its seals cannot be checked
 * - `tenant_gone`: a tenant that was seen before is deleted, or not there at all
 */
export type FindingKind =
  | "rows_changed"
  | "rows_missing"
  | "rows_added"
  | "rows_unsealed"
  | "seal_missing"
  | "seal_changed"
  | "end_changed"
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
  readonly #list: Finding[] = [];
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
}
