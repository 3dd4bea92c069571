import { randomInt } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { SealBroken } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database, TenantTransactions } from "../store/database.js";
import { SEALED_TABLES } from "../store/tenancy/sealed-columns.js";
import { type SampleStatements, type SealedRow, sampleStatements } from "../store/tenancy/sealed-row-statements.js";
import { BrokenRows } from "./broken-rows.js";
import { openSealedRow } from "./sealed-row.js";

const TABLES = SEALED_TABLES.map((table) => ({ table, statements: sampleStatements(table) }));
/** Keys that one statement passes over. */
const STEP = 10_000;
/** Rows that one transaction reads. */
const ROWS_AT_ONCE = 100;

/** The transactions of the tenant. */
type Transactions = Pick<TenantTransactions, "bulk">;

export interface OpenedSample {
  readonly opened: number;
  readonly broken: BrokenRows;
}

export interface SampleSize {
  /** At most this many rows of each table. */
  readonly rows: number;
  readonly step?: number | undefined;
}

/** Opens the sealed values of some rows of a tenant, chosen at random in each of its tables, and forgets them. */
export async function openSample(
  database: Pick<Database, "of">,
  tenantId: TenantId,
  keys: TenantKeys,
  size: SampleSize,
): Promise<OpenedSample> {
  const broken = new BrokenRows();
  let opened = 0;
  for (const { table, statements } of TABLES) {
    for await (const row of sampleRows(database.of(tenantId), statements, size)) {
      try {
        for (const plaintext of openSealedRow(keys, table, row)) plaintext?.fill(0);
        opened += 1;
      } catch (error) {
        if (!(error instanceof SealBroken)) throw error;
        broken.add({ table: table.table, key: row.key });
      }
    }
  }
  return { opened, broken };
}

/** Rows of a table at random, each once, however many it has: each statement passes over the keys of one step at most. */
async function* sampleRows(
  transactions: Transactions,
  statements: SampleStatements,
  { rows, step = STEP }: SampleSize,
): AsyncGenerator<SealedRow> {
  const starts: (string | undefined)[] = [];
  let after: string | null | undefined;
  while (after !== null) {
    starts.push(after);
    const range = { after, rows: step };
    after = await transactions.bulk((tx) => tx.query(statements.rangeEnd, range));
  }
  const rest = await transactions.bulk((tx) => tx.query(statements.countAfter, starts.at(-1)));
  const numbers = draw(rows, (starts.length - 1) * step + rest);
  for (let from = 0; from < numbers.length; from += ROWS_AT_ONCE) {
    const places = numbers
      .slice(from, from + ROWS_AT_ONCE)
      .map((n) => ({ after: starts[Math.floor(n / step)], offset: n % step }));
    const read = await transactions.bulk((tx) => Promise.all(places.map((place) => tx.query(statements.rowAt, place))));
    // One may have been deleted since they were counted.
    yield* read.filter((row) => row !== null);
  }
}

/** Different numbers below a bound: this many, or all. */
function draw(count: number, bound: number): readonly number[] {
  // Floyd's algorithm.
  const drawn = new Set<number>();
  for (let most = Math.max(0, bound - count); most < bound; most += 1) {
    const number = randomInt(most + 1);
    drawn.add(drawn.has(number) ? most : number);
  }
  return [...drawn];
}
