import { setTimeout as pause } from "node:timers/promises";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { SealBroken } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { SEALED_TABLES, type SealedTable } from "../store/tenancy/sealed-columns.js";
import {
  type CurrentVersions,
  type Resealed,
  type SealedRow,
  sealedRowStatements,
} from "../store/tenancy/sealed-row-statements.js";
import { BrokenRows } from "./broken-rows.js";
import { openSealedRow, sealRow } from "./sealed-row.js";

/** Rows examined per transaction. Writing 500 sealed rows took 35 ms on two cores. */
const BATCH_ROWS = 500;
/** The number of attempts on a busy database before the pass fails. */
const ATTEMPTS = 10;

const TABLES = SEALED_TABLES.map((table) => ({ table, statements: sealedRowStatements(table) }));

export interface PassOptions {
  readonly database: Database;
  readonly tenantId: TenantId;
  readonly keys: TenantKeys;
  /** Called after each transaction with its result. A rejection ends the pass. */
  readonly onBatch: (table: string, resealed: number) => Promise<void>;
}

export interface PassResult {
  /** Rows that were not under the current keys when they were examined, and can be resealed. */
  readonly found: number;
  /** Rows with a value that does not open: the value stays as it is, and needs the key that it names. */
  readonly broken: BrokenRows;
}

/**
 * Reseals every value of a tenant that is not under the current keys. Can be interrupted anywhere and repeated:
 * finished rows are skipped.
 */
export async function resealPass({ database, tenantId, keys, onBatch }: PassOptions): Promise<PassResult> {
  const current = currentOf(keys);
  const broken = new BrokenRows();
  let found = 0;
  for (const { table, statements } of TABLES) {
    await eachBatch(async (after) => {
      const started = performance.now();
      const { last, renewed, unopened } = await patiently(() =>
        database.of(tenantId).bulk(async (tx) => {
          const end = await tx.query(statements.rangeEnd, { after, rows: BATCH_ROWS });
          const rows = await tx.query(statements.stale, { after, last: end ?? undefined, current });
          const sealedAgain = rows.map((row) => resealed(keys, table, row));
          const renewed = sealedAgain.filter(({ isBroken }) => !isBroken);
          for (const { to } of renewed) tx.enqueue(statements.replace, to);
          return {
            last: end,
            renewed: renewed.length,
            unopened: sealedAgain.filter(({ isBroken }) => isBroken).map(({ to }) => to.key),
          };
        }),
      );
      found += renewed;
      for (const key of unopened) broken.add({ table: table.table, key });
      await onBatch(table.table, renewed);
      // Pauses for as long as the transaction took: half of the database's time is left for callers.
      if (renewed > 0) await pause(performance.now() - started);
      return last;
    });
  }
  return { found, broken };
}

/** The number of a tenant's rows that are not under the current keys, by table. */
export async function countStale(
  database: Database,
  tenantId: TenantId,
  current: CurrentVersions,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { table, statements } of TABLES) {
    let n = 0;
    await eachBatch((after) =>
      database.of(tenantId).bulk(async (tx) => {
        const end = await tx.query(statements.rangeEnd, { after, rows: 10_000 });
        n += await tx.query(statements.countStale, { after, last: end ?? undefined, current });
        return end;
      }),
    );
    if (n > 0) counts[table.table] = n;
  }
  return counts;
}

function currentOf({ data, cvc }: TenantKeys): CurrentVersions {
  return { data: data.current, cvc: cvc.current };
}

async function eachBatch(look: (after: string | undefined) => Promise<string | null>): Promise<void> {
  let after: string | undefined;
  for (;;) {
    const last = await look(after);
    if (last === null) return;
    after = last;
  }
}

interface SealedAgain {
  readonly to: Resealed;
  readonly isBroken: boolean;
}

/** Reseals all values of a row: each may be bound to columns that change with the others. */
function resealed(keys: TenantKeys, table: SealedTable, row: SealedRow): SealedAgain {
  const { key, sealed, plain } = row;
  const later = { ...row, plain: { ...plain, ...(table.hasRevision && { revision: Number(plain.revision) + 1 }) } };
  try {
    const plaintexts = openSealedRow(keys, table, row);
    const to = sealRow(keys, table, later, plaintexts);
    for (const plaintext of plaintexts) plaintext?.fill(0);
    return { to: { key, from: sealed, to }, isBroken: false };
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    // One damaged row must not keep all others under a key that is to be destroyed.
    return { to: { key, from: sealed, to: sealed }, isBroken: true };
  }
}

/** Callers have priority: waits while the database is busy. */
async function patiently<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "unavailable" || attempt === ATTEMPTS) throw error;
      await pause(200 * attempt);
    }
  }
}
