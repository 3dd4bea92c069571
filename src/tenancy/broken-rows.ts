/** A row with a value that does not open: it was tampered with or damaged. */
export interface BrokenRow {
  readonly table: string;
  /** As PostgreSQL formats it. */
  readonly key: string;
}

/** Further rows are counted, not named. */
const MAX_NAMED = 100;

/** The rows of a tenant that a pass could not open. */
export class BrokenRows {
  readonly #named: BrokenRow[] = [];
  #count = 0;

  add(row: BrokenRow): void {
    this.#count += 1;
    if (this.#named.length < MAX_NAMED) this.#named.push(row);
  }

  get count(): number {
    return this.#count;
  }

  /** The first hundred. */
  get named(): readonly BrokenRow[] {
    return this.#named;
  }
}
