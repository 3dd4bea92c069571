import { encodeAad, open, type SealContext, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { SealedColumn, SealedTable } from "../store/tenancy/sealed-columns.js";
import type { SealedRow } from "../store/tenancy/sealed-row-statements.js";

type Plaintexts = readonly (Buffer | null)[];

/**
 * The plaintexts of a row's sealed values, in the order of its table's columns. The caller erases them.
 * @throws {SealBroken} if one does not open: it was damaged or changed, or its key is gone.
 */
export function openSealedRow(keys: TenantKeys, table: SealedTable, row: SealedRow): Plaintexts {
  return table.columns.map((column, index) => {
    const value = row.sealed[index];
    return value ? open(keys[column.purpose], sealContext(keys, table, row, column), value) : null;
  });
}

export function sealRow(keys: TenantKeys, table: SealedTable, row: SealedRow, plaintexts: Plaintexts) {
  return table.columns.map((column, index) => {
    const plaintext = plaintexts[index];
    return plaintext ? seal(keys[column.purpose], sealContext(keys, table, row, column), plaintext) : null;
  });
}

function sealContext({ tenantId }: TenantKeys, table: SealedTable, { key, plain }: SealedRow, column: SealedColumn) {
  const context: SealContext = {
    tenantId,
    // PostgreSQL writes a bytea with a prefix; its values are sealed for the digits alone.
    entity: table.keyType === "bytea" ? key.replace(/^\\x/, "") : key,
    field: column.field,
    ...(column.bound ? { bound: encodeAad(plain, column.bound) } : {}),
  };
  return context;
}
