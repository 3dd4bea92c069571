import { defineStatement, type Statement, type Table } from "./statement.js";

/** The purposes of the keys that seal rows. */
export type SealingPurpose = "data" | "cvc";

/** A column that holds a sealed value: under which key, and as which field of its row. */
export interface SealedColumn {
  readonly name: string;
  readonly purpose: SealingPurpose;
  readonly field: string;
}

/** A table with sealed values. The second part of its primary key names the entity that they are sealed for. */
export interface SealedTable {
  readonly table: Table;
  readonly key: string;
  readonly keyType: "text" | "uuid" | "bytea";
  /** Whether changes to its rows are compared by a revision: one that is sealed anew counts as changed. */
  readonly hasRevision: boolean;
  readonly columns: readonly SealedColumn[];
}

const one = (name: string, field: string, purpose: SealingPurpose = "data"): readonly SealedColumn[] => [
  { name, field, purpose },
];
const byId = { key: "id", keyType: "uuid" } as const;

/** Every sealed column there is; a test compares this with the schema. */
export const SEALED_TABLES: readonly SealedTable[] = [
  { table: "members", ...byId, hasRevision: false, columns: one("profile", "profile") },
  { table: "invitations", ...byId, hasRevision: false, columns: one("email", "email") },
  { table: "proxies", ...byId, hasRevision: true, columns: one("definition", "proxy") },
  { table: "reactor_formulas", ...byId, hasRevision: true, columns: one("definition", "formula") },
  { table: "reactors", ...byId, hasRevision: true, columns: one("definition", "reactor") },
  {
    ...{ table: "reactor_runs", ...byId, hasRevision: false },
    columns: [...one("request", "run_request"), ...one("result", "run_result")],
  },
  { table: "failed_runs", ...byId, hasRevision: false, columns: one("record", "failed_run") },
  { table: "connections", ...byId, hasRevision: true, columns: one("fields", "connection") },
  // Work on payments goes on between reading and writing: it must not find that they changed.
  { table: "payments", ...byId, hasRevision: false, columns: one("record", "payment") },
  { table: "refunds", ...byId, hasRevision: false, columns: one("record", "refund") },
  { table: "three_ds_sessions", ...byId, hasRevision: false, columns: one("record", "three_ds_session") },
  {
    ...{ table: "tokens", key: "id", keyType: "text", hasRevision: true },
    columns: [...one("data", "data"), ...one("attributes", "attributes")],
  },
  { table: "token_cvc", key: "token_id", keyType: "text", hasRevision: false, columns: one("code", "cvc", "cvc") },
  {
    ...{ table: "idempotency_keys", key: "key_hash", keyType: "bytea", hasRevision: false },
    columns: one("response", "idempotency"),
  },
];

/** A stretch of a table, in the order of its key. Keys are as PostgreSQL writes them as text. */
export interface Stretch {
  readonly after: string | undefined;
  /** Inclusive. Absent: to the end. */
  readonly last: string | undefined;
}

/** The key versions that new values are sealed under. */
export type CurrentVersions = Readonly<Record<SealingPurpose, number>>;

/** A row with its sealed columns, in the order of the table's description. */
export interface SealedRow {
  readonly key: string;
  readonly sealed: readonly (Buffer | null)[];
}

export interface Resealed {
  readonly key: string;
  readonly from: readonly (Buffer | null)[];
  readonly to: readonly (Buffer | null)[];
}

/** What is asked about one table's sealed rows. */
export interface SealedRowStatements {
  /** The key of the row that ends the next stretch of so many rows. Null: fewer are left. */
  readonly endOf: Statement<{ readonly after: string | undefined; readonly rows: number }, string | null>;
  /** The rows of a stretch of which something is sealed under another key than the current. */
  readonly stale: Statement<Stretch & { readonly current: CurrentVersions }, readonly SealedRow[]>;
  /** How many they are. */
  readonly countStale: Statement<Stretch & { readonly current: CurrentVersions }, number>;
  /** Puts values that were sealed anew in place of themselves. Answers whether nobody has changed the row meanwhile. */
  readonly replace: Statement<Resealed, boolean>;
}

/** Makes the statements for a table. Once for each: a flight knows its statements by identity. */
export function sealedRowStatements({ table, key, keyType, hasRevision, columns }: SealedTable): SealedRowStatements {
  // Layout of a sealed value: format (1), key version (4), ... `<>` with null is not true.
  const staleness = (current: CurrentVersions) =>
    columns
      .map(({ name, purpose }) => `substring(${name} from 2 for 4) <> '\\x${hexOf(current[purpose])}'`)
      .join(" or ");
  const shared = { table, sortKey: () => "" };
  return {
    endOf: defineStatement<{ after: string | undefined; rows: number }, string | null, { key: string }>({
      ...shared,
      kind: "read",
      queries: (sql, tenantId, inputs) =>
        inputs.map(
          ({ after, rows }) => sql`
            select ${sql.unsafe(key)}::text as key from ${sql(table)} where tenant_id = ${tenantId}
              ${after === undefined ? sql`` : sql`and ${sql(key)} > ${after}::text::${sql.unsafe(keyType)}`}
            order by ${sql.unsafe(`${table}.${key}`)} offset ${rows - 1} limit 1`,
        ),
      answers: (rows) => rows.map(([row]) => row?.key ?? null),
    }),
    stale: defineStatement<Stretch & { current: CurrentVersions }, readonly SealedRow[], StaleRow>({
      ...shared,
      kind: "read",
      queries: (sql, tenantId, inputs) =>
        inputs.map(
          ({ after, last, current }) => sql`
            select ${sql.unsafe(key)}::text as sealed_key, ${sql(columns.map(({ name }) => name))}
            from ${sql(table)} where tenant_id = ${tenantId} and (${sql.unsafe(staleness(current))})
              ${after === undefined ? sql`` : sql`and ${sql(key)} > ${after}::text::${sql.unsafe(keyType)}`}
              ${last === undefined ? sql`` : sql`and ${sql(key)} <= ${last}::text::${sql.unsafe(keyType)}`}
            order by ${sql.unsafe(`${table}.${key}`)}`,
        ),
      answers: (rows) =>
        rows.map((found) =>
          found.map((row) => ({
            key: String(row.sealed_key),
            sealed: columns.map(({ name }) => bytesOf(row[name])),
          })),
        ),
    }),
    countStale: defineStatement<Stretch & { current: CurrentVersions }, number, { n: number }>({
      ...shared,
      kind: "read",
      queries: (sql, tenantId, inputs) =>
        inputs.map(
          ({ after, last, current }) => sql`
            select count(*)::int as n
            from ${sql(table)} where tenant_id = ${tenantId} and (${sql.unsafe(staleness(current))})
              ${after === undefined ? sql`` : sql`and ${sql(key)} > ${after}::text::${sql.unsafe(keyType)}`}
              ${last === undefined ? sql`` : sql`and ${sql(key)} <= ${last}::text::${sql.unsafe(keyType)}`}`,
        ),
      answers: (rows) => rows.map(([row]) => row?.n ?? 0),
    }),
    replace: defineStatement<Resealed, boolean, unknown>({
      table,
      kind: "write",
      sortKey: ({ key: name }) => name,
      queries: (sql, tenantId, inputs) =>
        inputs.map(({ key: name, from, to }) => {
          const values = Object.fromEntries(columns.map((column, index) => [column.name, to[index] ?? null]));
          // Every sealed value is unlike all others: the same bytes mean that nobody has written meanwhile.
          const unchanged = columns.map(
            (column, index) => sql`and ${sql(column.name)} is not distinct from ${from[index] ?? null}`,
          );
          return sql`
            update ${sql(table)} set ${sql(values)}${hasRevision ? sql`, revision = revision + 1` : sql``}
            where tenant_id = ${tenantId} and ${sql(key)} = ${name}::text::${sql.unsafe(keyType)} ${unchanged}
            returning 1`;
        }),
      answers: (rows) => rows.map(({ length }) => length > 0),
    }),
  };
}

type StaleRow = Readonly<Record<string, unknown>>;

function bytesOf(value: unknown): Buffer | null {
  return Buffer.isBuffer(value) ? value : null;
}

function hexOf(version: number): string {
  return version.toString(16).padStart(8, "0");
}
