import { setTimeout as pause } from "node:timers/promises";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { encodeAad, open, SealBroken, type SealContext, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import {
  type CurrentVersions,
  type Resealed,
  SEALED_TABLES,
  type SealedColumn,
  type SealedRow,
  type SealedTable,
  sealedRowStatements,
} from "../store/tenancy/sealed-rows.js";
import { BrokenRows } from "./broken-rows.js";

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

/** The result of a pass. */
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
        database.bulk.run(tenantId, "unguarded", async (tx) => {
          const end = await tx.query(statements.endOf, { after, rows: BATCH_ROWS });
          const rows = await tx.query(statements.stale, { after, last: end ?? undefined, current });
          const sealedAgain = rows.map((row) => resealed(tx.tenantId, keys, table, row));
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
      database.bulk.run(tenantId, "unguarded", async (tx) => {
        const end = await tx.query(statements.endOf, { after, rows: 10_000 });
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

/**
 * Reseals all values of a row, including those that earlier releases stored in the clear: each may be bound to columns
 * that change with the others.
 */
function resealed(tenantId: TenantId, keys: TenantKeys, table: SealedTable, row: SealedRow): SealedAgain {
  const { key, sealed, plain } = row;
  // PostgreSQL writes a bytea with a prefix; its values are sealed for the digits alone.
  const entity = table.keyType === "bytea" ? key.replace(/^\\x/, "") : key;
  const later = { ...plain, ...(table.hasRevision && { revision: Number(plain.revision) + 1 }) };
  try {
    const to = table.columns.map((column, index) => {
      const place = { tenantId, entity, field: column.field };
      const value = sealed[index];
      const plaintext = value
        ? open(keys[column.purpose], { ...place, ...bindingOf(column, plain) }, value)
        : plaintextOf(column, plain);
      if (!plaintext) return null;
      const renewed = seal(keys[column.purpose], { ...place, ...bindingOf(column, later) }, plaintext);
      plaintext.fill(0);
      return renewed;
    });
    return { to: { key, from: sealed, to }, isBroken: false };
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    // One damaged row must not keep all others under a key that is to be destroyed.
    return { to: { key, from: sealed, to: sealed }, isBroken: true };
  }
}

function bindingOf({ bound }: SealedColumn, plain: SealedRow["plain"]): Pick<SealContext, "bound"> {
  return bound ? { bound: encodeAad(plain, bound) } : {};
}

/** A plain value left by an earlier release. */
function plaintextOf({ plain: column }: SealedColumn, plain: SealedRow["plain"]): Buffer | undefined {
  const text = column === undefined ? "" : plain[column];
  return typeof text === "string" && text !== "" ? Buffer.from(text) : undefined;
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
