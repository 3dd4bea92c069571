/** A row with a value that does not open: it was changed, or damaged. */
export interface BrokenRow {
  readonly table: string;
  /** As PostgreSQL writes it as text. */
  readonly key: string;
}

/** More are counted, and not named. */
const MOST_NAMED = 100;

/** What a pass over a tenant's rows could not open. */
export class BrokenRows {
  readonly #named: BrokenRow[] = [];
  #count = 0;

  add(row: BrokenRow): void {
    this.#count += 1;
    if (this.#named.length < MOST_NAMED) this.#named.push(row);
  }

  get count(): number {
    return this.#count;
  }

  /** The first hundred. */
  get named(): readonly BrokenRow[] {
    return this.#named;
  }
}
