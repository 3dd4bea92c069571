import type { TenantId } from "../base/ids.js";
import type { Sql } from "./connect.js";

/**
 * The order in which a transaction touches tables, so that no two transactions wait for each other crosswise. Counters
 * come last: their rows are shared, and a lock on them is to be held for the shortest time.
 */
const LOCK_ORDER = [
  "tenants",
  "tenant_keys",
  "members",
  "applications",
  "application_keys",
  "sessions",
  "tokens",
  "token_cvc",
  "token_terms",
  "tenant_containers",
  "idempotency_keys",
  "audit_logs",
  "token_activity",
  "due",
  "token_counts",
] as const;

export type Table = (typeof LOCK_ORDER)[number];

/** How a statement that many requests of a tenant share is run. */
export interface StatementDefinition<Input, Output> {
  readonly table: Table;
  readonly kind: "read" | "write";
  /** Inputs of one flight are sorted by this, so that rows are locked in one order everywhere. */
  sortKey(input: Input): string;
  /** Answers in the order of its inputs; with nothing at all where no answer is ever asked for. `at` is the time of the flight. */
  run(sql: Sql, tenantId: TenantId, inputs: readonly Input[], at: Date): Promise<readonly Output[]>;
}

/** A statement that requests of one flight run together: their inputs go to the database in as few queries as can be. */
export interface Statement<Input, Output> {
  readonly kind: "read" | "write";
  join(boarding: Boarding, input: Input, answer?: (output: Output) => void): void;
}

export function defineStatement<Input, Output>(definition: StatementDefinition<Input, Output>): Statement<Input, Output> {
  const batches = new WeakMap<Boarding, Batch<Input, Output>>();
  return {
    kind: definition.kind,
    join(boarding, input, answer) {
      let batch = batches.get(boarding);
      if (!batch) {
        batch = new Batch(definition);
        batches.set(boarding, batch);
        boarding.add(batch);
      }
      batch.add(input, answer);
    },
  };
}

interface Sendable {
  readonly rank: number;
  send(sql: Sql, tenantId: TenantId, at: Date): Promise<void>;
  deliver(): void;
}

class Batch<Input, Output> implements Sendable {
  readonly rank: number;
  readonly #definition: StatementDefinition<Input, Output>;
  readonly #items: { input: Input; key: string; answer: ((output: Output) => void) | undefined }[] = [];
  #outputs: readonly Output[] = [];

  constructor(definition: StatementDefinition<Input, Output>) {
    this.#definition = definition;
    this.rank = LOCK_ORDER.indexOf(definition.table);
  }

  add(input: Input, answer: ((output: Output) => void) | undefined): void {
    this.#items.push({ input, key: this.#definition.sortKey(input), answer });
  }

  async send(sql: Sql, tenantId: TenantId, at: Date): Promise<void> {
    if (this.#items.length > 1) this.#items.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    const inputs = this.#items.map(({ input }) => input);
    this.#outputs = await this.#definition.run(sql, tenantId, inputs, at);
    if (this.#outputs.length !== inputs.length && this.#items.some(({ answer }) => answer)) {
      throw new Error(`a statement on ${this.#definition.table} answered ${this.#outputs.length} of ${inputs.length} inputs`);
    }
  }

  deliver(): void {
    for (const [index, output] of this.#outputs.entries()) this.#items[index]?.answer?.(output);
  }
}

/** What all requests of a flight want run next. It is sent in lock order, pipelined. */
export class Boarding {
  readonly #batches: Sendable[] = [];

  add(batch: Sendable): void {
    this.#batches.push(batch);
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  /** Starts all statements at once. The promises settle in the order in which the database ran them. */
  send(sql: Sql, tenantId: TenantId, at: Date): Promise<void>[] {
    this.#batches.sort((a, b) => a.rank - b.rank);
    return this.#batches.map((batch) => batch.send(sql, tenantId, at));
  }

  /** Hands the answers out. Only after everything sent has succeeded. */
  deliver(): void {
    for (const batch of this.#batches) batch.deliver();
  }
}

/**
 * Sizes that batches are cut into. Each size is a prepared statement of its own on each connection, so that there must
 * not be a hundred of them; 8 down to 1 are all there because most batches are small.
 */
const SIZES = [64, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1] as const;

/** Cuts inputs into prepared sizes and runs all pieces at once, pipelined. */
export async function inSizes<Input, Output>(
  inputs: readonly Input[],
  run: (piece: readonly Input[]) => Promise<readonly Output[]>,
): Promise<Output[]> {
  const pieces: Promise<readonly Output[]>[] = [];
  let from = 0;
  for (const size of SIZES) {
    while (inputs.length - from >= size) {
      pieces.push(run(inputs.slice(from, from + size)));
      from += size;
    }
  }
  return (await Promise.all(pieces)).flat();
}
