import { setTimeout as pause } from "node:timers/promises";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { open, seal, sealedVersion } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import {
  type CurrentVersions,
  type Resealed,
  SEALED_TABLES,
  type SealedRow,
  type SealedTable,
  sealedRowStatements,
} from "../store/sealed-rows.js";

/** Rows that are looked at in one transaction. 500 sealed rows written took 35 ms (storage study 4.5). */
const STRETCH = 500;
/** A busy database is asked again so often, and then the pass ends with its failure. */
const ATTEMPTS = 10;

const TABLES = SEALED_TABLES.map((table) => ({ table, statements: sealedRowStatements(table) }));

export interface PassOptions {
  readonly database: Database;
  readonly tenantId: TenantId;
  readonly keys: TenantKeys;
  /** Told after each transaction what came of it. Rejects to end the pass. */
  readonly onStretch: (table: string, resealed: number) => Promise<void>;
}

/**
 * Goes through all that a tenant has sealed, and seals anew what is not under the current keys. Can be cut off anywhere and
 * run again: what is done is skipped.
 * @returns how many rows were not under the current keys when they were looked at.
 */
export async function resealPass({ database, tenantId, keys, onStretch }: PassOptions): Promise<number> {
  const current = currentOf(keys);
  let found = 0;
  for (const { table, statements } of TABLES) {
    await eachStretch(async (after) => {
      const started = performance.now();
      const { last, stale } = await patiently(() =>
        database.slow.run(tenantId, "unguarded", async (tx) => {
          const end = await tx.ask(statements.endOf, { after, rows: STRETCH });
          const rows = await tx.ask(statements.stale, { after, last: end ?? undefined, current });
          for (const row of rows) tx.tell(statements.replace, resealed(tx.tenantId, keys, table, row));
          return { last: end, stale: rows.length };
        }),
      );
      found += stale;
      await onStretch(table.table, stale);
      // As long again as it took: the callers' half of the database.
      if (stale > 0) await pause(performance.now() - started);
      return last;
    });
  }
  return found;
}

/** How many rows of a tenant are not under the current keys, by table. */
export async function countStale(
  database: Database,
  tenantId: TenantId,
  current: CurrentVersions,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { table, statements } of TABLES) {
    let n = 0;
    await eachStretch((after) =>
      database.slow.run(tenantId, "unguarded", async (tx) => {
        const end = await tx.ask(statements.endOf, { after, rows: 10_000 });
        n += await tx.ask(statements.countStale, { after, last: end ?? undefined, current });
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

async function eachStretch(look: (after: string | undefined) => Promise<string | null>): Promise<void> {
  let after: string | undefined;
  for (;;) {
    const last = await look(after);
    if (last === null) return;
    after = last;
  }
}

function resealed(tenantId: TenantId, keys: TenantKeys, table: SealedTable, { key, sealed }: SealedRow): Resealed {
  // PostgreSQL writes a bytea with its mark; whoever sealed for it named the digits alone.
  const entity = table.keyType === "bytea" ? key.replace(/^\\x/, "") : key;
  const to = table.columns.map(({ purpose, field }, index) => {
    const value = sealed[index] ?? null;
    if (value === null || sealedVersion(value) === keys[purpose].current) return value;
    const place = { tenantId, entity, field };
    const plaintext = open(keys[purpose], place, value);
    const renewed = seal(keys[purpose], place, plaintext);
    plaintext.fill(0);
    return renewed;
  });
  return { key, from: sealed, to };
}

/** Callers come first: where they keep the database busy, this waits. */
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
