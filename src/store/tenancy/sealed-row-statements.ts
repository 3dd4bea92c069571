import type { TenantId } from "../../base/ids.js";
import type { AadValue } from "../../crypto/sealed.js";
import { defineCount, defineForEach } from "../statements/row-statements.js";
import { defineStatement, type SqlTag, type Statement } from "../statements/statement.js";
import type { SealedTable, SealingPurpose } from "./sealed-columns.js";

export type CurrentVersions = Readonly<Record<SealingPurpose, number>>;

/** Keys are in PostgreSQL's text form. */
interface RangeStart {
  readonly after: string | undefined;
  readonly rows: number;
}

/** A range of a table in key order, and the keys that its values should be sealed under. */
interface StaleRange {
  readonly after: string | undefined;
  /** Inclusive. Absent: to the end. */
  readonly last: string | undefined;
  readonly current: CurrentVersions;
}

/** A row with its sealed columns in the order of the table's description, and their plain columns. */
export interface SealedRow {
  readonly key: string;
  readonly sealed: readonly (Buffer | null)[];
  readonly plain: Readonly<Record<string, AadValue>>;
}

export interface Resealed {
  readonly key: string;
  readonly from: readonly (Buffer | null)[];
  readonly to: readonly (Buffer | null)[];
}

export interface SealedRowStatements {
  /** The key of the last row of the next range with this many rows. Null: fewer are left. */
  readonly rangeEnd: Statement<RangeStart, string | null>;
  /** The rows of a range with a value that is not sealed under the current key. */
  readonly stale: Statement<StaleRange, readonly SealedRow[]>;
  readonly countStale: Statement<StaleRange, number>;
  /** Replaces values with the same values sealed again. Returns whether the row was unchanged meanwhile. */
  readonly replace: Statement<Resealed, boolean>;
}

/** Makes the statements for a table. Call it once per table, because transactions identify statements by reference. */
export function sealedRowStatements(sealedTable: SealedTable): SealedRowStatements {
  const { table, key, keyType, columns } = sealedTable;
  const { selected, read } = sealedRows(sealedTable);
  const keyOrder = `order by ${table}.${key}`;
  const staleRows = (sql: SqlTag, tenantId: TenantId, { after, last, current }: StaleRange) => sql`
    from ${sql(table)} where tenant_id = ${tenantId} and (${sql.unsafe(staleness(columns, current))})
      ${beyond(sql, sealedTable, after)}
      ${last === undefined ? sql`` : sql`and ${sql(key)} <= ${last}::text::${sql.unsafe(keyType)}`}`;
  return {
    rangeEnd: rangeEndStatement(sealedTable),
    stale: defineForEach<StaleRange, readonly SealedRow[], StoredRow>(
      "read",
      table,
      (sql, tenantId, range) => sql`
        select ${sql.unsafe(key)}::text as sealed_key, ${sql(selected)} ${staleRows(sql, tenantId, range)}
        ${sql.unsafe(keyOrder)}`,
      (rows) => rows.map(read),
    ),
    countStale: defineCount<StaleRange>(
      table,
      (sql, tenantId, range) => sql`select count(*)::int as n ${staleRows(sql, tenantId, range)}`,
    ),
    replace: replaceStatement(sealedTable),
  };
}

/** The place of a row in key order: behind a key, and this many rows later. */
export interface RowPlace {
  readonly after: string | undefined;
  readonly offset: number;
}

export interface SampleStatements {
  readonly rangeEnd: SealedRowStatements["rangeEnd"];
  /** The number of rows behind a key. */
  readonly countAfter: Statement<string | undefined, number>;
  /** The row of a place with its sealed values. Null: there are fewer rows. It passes over keys alone. */
  readonly rowAt: Statement<RowPlace, SealedRow | null>;
}

/** Makes the statements that read single rows of a table. Call it once per table. */
export function sampleStatements(sealedTable: SealedTable): SampleStatements {
  const { table, key } = sealedTable;
  const { selected, read } = sealedRows(sealedTable);
  return {
    rangeEnd: rangeEndStatement(sealedTable),
    countAfter: defineCount<string | undefined>(
      table,
      (sql, tenantId, after) => sql`
        select count(*)::int as n from ${sql(table)} where tenant_id = ${tenantId} ${beyond(sql, sealedTable, after)}`,
    ),
    rowAt: defineForEach<RowPlace, SealedRow | null, StoredRow>(
      "read",
      table,
      (sql, tenantId, { after, offset }) => sql`
        select ${sql.unsafe(key)}::text as sealed_key, ${sql(selected)}
        from ${sql(table)} where tenant_id = ${tenantId} and ${sql(key)} = (
          select ${sql(key)} from ${sql(table)} where tenant_id = ${tenantId} ${beyond(sql, sealedTable, after)}
          order by ${sql(key)} offset ${offset} limit 1
        )`,
      ([row]) => (row ? read(row) : null),
    ),
  };
}

function rangeEndStatement(sealedTable: SealedTable): SealedRowStatements["rangeEnd"] {
  const { table, key } = sealedTable;
  return defineForEach<RangeStart, string | null, { key: string }>(
    "read",
    table,
    (sql, tenantId, { after, rows }) => sql`
      select ${sql.unsafe(key)}::text as key from ${sql(table)} where tenant_id = ${tenantId}
        ${beyond(sql, sealedTable, after)}
      order by ${sql.unsafe(`${table}.${key}`)} offset ${rows - 1} limit 1`,
    ([row]) => row?.key ?? null,
  );
}

function beyond(sql: SqlTag, { key, keyType }: SealedTable, after: string | undefined) {
  return after === undefined ? sql`` : sql`and ${sql(key)} > ${after}::text::${sql.unsafe(keyType)}`;
}

/** How rows are read with their sealed values and the plain ones that these are bound to. */
function sealedRows({ columns }: SealedTable) {
  const plainColumns = [...new Set(columns.flatMap(({ bound = [] }) => bound))];
  return {
    selected: [...columns.map(({ name }) => name), ...plainColumns],
    read: (row: StoredRow): SealedRow => ({
      key: String(row.sealed_key),
      sealed: columns.map(({ name }) => bytesOrNull(row[name])),
      plain: Object.fromEntries(plainColumns.map((name) => [name, boundValue(row[name])])),
    }),
  };
}

function staleness(columns: SealedTable["columns"], current: CurrentVersions): string {
  // Layout of a sealed value: format (1), key version (4), ... `<>` with null is not true.
  return columns
    .map(({ name, purpose }) => `substring(${name} from 2 for 4) <> '\\x${hexVersion(current[purpose])}'`)
    .join(" or ");
}

function replaceStatement({ table, key, keyType, hasRevision, columns }: SealedTable): SealedRowStatements["replace"] {
  return defineStatement<Resealed, boolean, unknown>({
    table,
    kind: "write",
    sortKey: ({ key: name }) => name,
    queries: (sql, tenantId, inputs) =>
      inputs.map(({ key: name, from, to }) => {
        const values = Object.fromEntries(columns.map((column, index) => [column.name, to[index] ?? null]));
        // No two sealed values are alike, so equal bytes mean that the row was not written meanwhile.
        const unchanged = columns.map(
          (column, index) => sql`and ${sql(column.name)} is not distinct from ${from[index] ?? null}`,
        );
        return sql`
          update ${sql(table)} set ${sql(values)}${hasRevision ? sql`, revision = revision + 1` : sql``}
          where tenant_id = ${tenantId} and ${sql(key)} = ${name}::text::${sql.unsafe(keyType)} ${unchanged}
          returning 1`;
      }),
    outputs: (rows) => rows.map(({ length }) => length > 0),
  });
}

type StoredRow = Readonly<Record<string, unknown>>;

function bytesOrNull(value: unknown): Buffer | null {
  return Buffer.isBuffer(value) ? value : null;
}

function boundValue(value: unknown): AadValue {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
  }
  if (value === null || value instanceof Date || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(String);
  throw new Error("a sealed value is bound to a column of a type that is not known");
}

function hexVersion(version: number): string {
  return version.toString(16).padStart(8, "0");
}
