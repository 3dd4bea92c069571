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
  "invitations",
  "outbox",
  "applications",
  "application_keys",
  "sessions",
  "proxies",
  "reactor_formulas",
  "reactors",
  "reactor_runs",
  "connections",
  "payments",
  "refunds",
  "simulator_payments",
  "three_ds_sessions",
  // Before the tokens, whose rows are read together with their codes: who reads beside a change sees all of it or nothing.
  // Whoever writes a code holds its token's row since an earlier step, or made up its id.
  "token_cvc",
  "tokens",
  "token_terms",
  "idempotency_keys",
  "audit_logs",
  "audit_seals",
  "audit_heads",
  "token_activity",
  "due",
  "token_counts",
] as const;

export type Table = (typeof LOCK_ORDER)[number];

/** All tables that transactions touch, in the order in which they do. */
export const TABLES: readonly Table[] = LOCK_ORDER;

/** A query that has not been sent yet. */
export interface Query<Row> {
  execute(): Promise<readonly Row[]>;
}

interface Shared<Input> {
  readonly table: Table;
  /**
   * Before all else on its table in one step, whoever of a flight asked first: a look that is not to see half of somebody's
   * change, or a removal that is not to take what somebody puts in its place.
   */
  readonly comesFirst?: boolean;
  /** Inputs of one flight are sorted by this, so that rows are locked in one order everywhere. */
  sortKey(input: Input): string;
}

/** How a statement that many requests of a tenant share is run. */
export interface StatementDefinition<Input, Output, Row> extends Shared<Input> {
  readonly kind: "read" | "write";
  /**
   * The queries for all inputs of a flight. They are returned and not awaited: the flight sends them, and whatever comes
   * after them, in exactly this order. `at` is the time of the flight.
   */
  queries(sql: Sql, tenantId: TenantId, inputs: readonly Input[], at: Date): readonly Query<Row>[];
  /** The answers in the order of the inputs, given the rows of each query. */
  answers(rows: readonly (readonly Row[])[], inputs: readonly Input[]): readonly Output[];
}

/** A statement whose answer nobody asks for. */
export interface WriteDefinition<Input> extends Shared<Input> {
  queries(sql: Sql, tenantId: TenantId, inputs: readonly Input[], at: Date): readonly Query<unknown>[];
}

/** A statement that requests of one flight run together: their inputs go to the database in as few queries as can be. */
export interface Statement<Input, Output> {
  readonly kind: "read" | "write";
  join(boarding: Boarding, input: Input, answer?: (output: Output) => void): void;
}

/** A statement that answers each of its inputs; those of one flight are sent together. */
export function defineStatement<Input, Output, Row>(
  definition: StatementDefinition<Input, Output, Row>,
): Statement<Input, Output> {
  const batches = new WeakMap<Boarding, Batch<Input, Output, Row>>();
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

/** A statement whose answer nobody waits for: it goes with the next batch, or with the commit. */
export function defineWrite<Input>(definition: WriteDefinition<Input>): Statement<Input, never> {
  return defineStatement<Input, never, unknown>({
    kind: "write",
    table: definition.table,
    comesFirst: definition.comesFirst ?? false,
    sortKey: (input) => definition.sortKey(input),
    queries: (sql, tenantId, inputs, at) => definition.queries(sql, tenantId, inputs, at),
    answers: () => [],
  });
}

interface Sendable {
  readonly rank: number;
  build(sql: Sql, tenantId: TenantId, at: Date): void;
  send(): Promise<void>;
  deliver(): void;
}

class Batch<Input, Output, Row> implements Sendable {
  readonly rank: number;
  readonly #definition: StatementDefinition<Input, Output, Row>;
  readonly #items: { input: Input; key: string; answer: ((output: Output) => void) | undefined }[] = [];
  #inputs: readonly Input[] = [];
  #queries: readonly Query<Row>[] = [];
  #outputs: readonly Output[] = [];

  constructor(definition: StatementDefinition<Input, Output, Row>) {
    this.#definition = definition;
    this.rank = LOCK_ORDER.indexOf(definition.table) + (definition.comesFirst ? 0 : 0.5);
  }

  add(input: Input, answer: ((output: Output) => void) | undefined): void {
    this.#items.push({ input, key: this.#definition.sortKey(input), answer });
  }

  build(sql: Sql, tenantId: TenantId, at: Date): void {
    if (this.#items.length > 1) this.#items.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    this.#inputs = this.#items.map(({ input }) => input);
    this.#queries = this.#definition.queries(sql, tenantId, this.#inputs, at);
  }

  send(): Promise<void> {
    return Promise.all(this.#queries.map((query) => query.execute())).then((rows) => this.#take(rows));
  }

  #take(rows: readonly (readonly Row[])[]): void {
    this.#outputs = this.#definition.answers(rows, this.#inputs);
    if (this.#outputs.length !== this.#inputs.length && this.#items.some(({ answer }) => answer)) {
      throw new Error(
        `a statement on ${this.#definition.table} answered ${this.#outputs.length} of ${this.#inputs.length} inputs`,
      );
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

  /** Makes all queries before any is sent: one that cannot be made leaves nothing half sent behind. */
  build(sql: Sql, tenantId: TenantId, at: Date): void {
    this.#batches.sort((a, b) => a.rank - b.rank);
    for (const batch of this.#batches) batch.build(sql, tenantId, at);
  }

  /** Starts all statements at once. The promises settle in the order in which the database ran them. */
  send(): Promise<void>[] {
    return this.#batches.map((batch) => batch.send());
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

/** Cuts inputs into prepared sizes: one query each. */
export function inSizes<Input, Row>(
  inputs: readonly Input[],
  query: (piece: readonly Input[]) => Query<Row>,
): Query<Row>[] {
  const queries: Query<Row>[] = [];
  let from = 0;
  for (const size of SIZES) {
    while (inputs.length - from >= size) {
      queries.push(query(inputs.slice(from, from + size)));
      from += size;
    }
  }
  return queries;
}
