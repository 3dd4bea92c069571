import type { TenantId } from "../base/ids.js";
import { SealBroken } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { SEALED_TABLES } from "../store/tenancy/sealed-columns.js";
import { sampleStatement } from "../store/tenancy/sealed-row-statements.js";
import { BrokenRows } from "./broken-rows.js";
import { openSealedRow } from "./sealed-row.js";

const TABLES = SEALED_TABLES.map((table) => ({ table, sample: sampleStatement(table) }));

export interface OpenedSample {
  readonly opened: number;
  readonly broken: BrokenRows;
}

/**
 * Opens the sealed values of some rows of a tenant, chosen at random in each of its tables, and forgets them.
 * @param rows at most this many of each table.
 */
export async function openSample(
  database: Pick<Database, "of">,
  tenantId: TenantId,
  keys: TenantKeys,
  rows: number,
): Promise<OpenedSample> {
  const broken = new BrokenRows();
  let opened = 0;
  for (const { table, sample } of TABLES) {
    for (const row of await database.of(tenantId).bulk((tx) => tx.query(sample, rows))) {
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
