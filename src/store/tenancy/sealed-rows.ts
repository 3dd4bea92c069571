import type { AadValue } from "../../crypto/sealed.js";
import { defineStatement, type Statement, type Table } from "../statements/statement.js";

/** The purposes of the keys that seal rows. */
export type SealingPurpose = "data" | "cvc";

/** A column that holds a sealed value, with its key purpose and its field name. */
export interface SealedColumn {
  readonly name: string;
  readonly purpose: SealingPurpose;
  readonly field: string;
  /** The plain columns that it is bound to. */
  readonly bound?: readonly string[];
  /** The plain column that held the value in releases that did not seal it. Empty once the value is sealed. */
  readonly plain?: string;
}

/** A table with sealed values. The second part of its primary key names the entity that they are sealed for. */
export interface SealedTable {
  readonly table: Table;
  readonly key: string;
  readonly keyType: "text" | "uuid" | "bytea";
  /** Whether changes to its rows compare a revision. A row that is sealed again counts as changed. */
  readonly hasRevision: boolean;
  readonly columns: readonly SealedColumn[];
}

const one = (name: string, field: string, bound?: readonly string[]): SealedColumn => ({
  ...{ name, field, purpose: "data" },
  ...(bound && { bound }),
});
const label = (plain: string): SealedColumn => ({ ...one("label", "name"), plain });
const byId = { key: "id", keyType: "uuid", hasRevision: false } as const;
const versioned = { ...byId, hasRevision: true } as const;

/**
 * The plain columns that sealed values of the same row are bound to: those that decide who may see or use the values,
 * and how.
 */
export const AAD_COLUMNS = {
  applications: ["type"],
  application_keys: ["application_id", "key_hash"],
  member_identities: ["member_id", "identity_term"],
  passkeys: ["member_id", "credential_hash"],
  sign_ins: ["token_hash", "member_id", "method", "expires_at", "strong_at"],
  sign_in_requests: ["method", "browser_hash", "expires_at"],
  sessions: ["key_hash", "nonce_hash", "application_id", "authorized_by", "expires_at"],
  proxies: ["application_id", "require_auth"],
  reactors: ["application_id", "formula_id"],
  reactor_runs: ["reactor_id", "application_id"],
  connections: ["formula_id", "accepted_countries", "accepted_currencies", "active"],
  payments: ["connection_id", "token_id", "containers", "status", "provider_id"],
  refunds: ["payment_id"],
  three_ds_sessions: ["token_id", "payment_id"],
  // The revision: data and attributes from different writes do not open together.
  tokens: ["type", "containers", "revision", "fingerprint", "dedupe_key"],
} as const;

/** Every sealed column; a test compares this with the schema. */
export const SEALED_TABLES: readonly SealedTable[] = [
  { table: "members", ...byId, columns: [one("profile", "profile")] },
  {
    ...{ table: "member_identities", ...byId },
    columns: [one("proof", "member_identity", AAD_COLUMNS.member_identities)],
  },
  { table: "passkeys", ...byId, columns: [one("details", "passkey", AAD_COLUMNS.passkeys)] },
  { table: "sign_ins", ...byId, columns: [one("details", "sign_in", AAD_COLUMNS.sign_ins)] },
  {
    ...{ table: "sign_in_requests", ...byId },
    columns: [one("details", "sign_in_request", AAD_COLUMNS.sign_in_requests)],
  },
  { table: "invitations", ...byId, columns: [one("email", "email")] },
  { table: "applications", ...byId, columns: [one("definition", "application", AAD_COLUMNS.applications)] },
  {
    ...{ table: "application_keys", ...byId },
    columns: [one("proof", "application_key", AAD_COLUMNS.application_keys)],
  },
  { table: "sessions", ...byId, columns: [one("rights", "session", AAD_COLUMNS.sessions)] },
  {
    ...{ table: "proxies", ...versioned },
    columns: [one("definition", "proxy", AAD_COLUMNS.proxies), label("name")],
  },
  { table: "reactor_formulas", ...versioned, columns: [one("definition", "formula"), label("name")] },
  {
    ...{ table: "reactors", ...versioned },
    columns: [one("definition", "reactor", AAD_COLUMNS.reactors), label("name")],
  },
  {
    ...{ table: "reactor_runs", ...byId },
    columns: [
      one("request", "run_request", AAD_COLUMNS.reactor_runs),
      one("result", "run_result", AAD_COLUMNS.reactor_runs),
    ],
  },
  {
    ...{ table: "connections", ...versioned },
    columns: [one("fields", "connection", AAD_COLUMNS.connections), label("display_name")],
  },
  { table: "failed_runs", ...byId, columns: [one("record", "failed_run")] },
  // Without a new revision: work on a payment continues between reading and writing, and must not find the row changed.
  { table: "payments", ...byId, columns: [one("record", "payment", AAD_COLUMNS.payments)] },
  { table: "refunds", ...byId, columns: [one("record", "refund", AAD_COLUMNS.refunds)] },
  {
    table: "three_ds_sessions",
    ...byId,
    columns: [one("record", "three_ds_session", AAD_COLUMNS.three_ds_sessions)],
  },
  {
    ...{ table: "tokens", key: "id", keyType: "text", hasRevision: true },
    columns: [one("data", "data", AAD_COLUMNS.tokens), one("attributes", "attributes", AAD_COLUMNS.tokens)],
  },
  {
    ...{ table: "token_cvc", key: "token_id", keyType: "text", hasRevision: false },
    columns: [{ ...one("code", "cvc"), purpose: "cvc" }],
  },
  {
    ...{ table: "idempotency_keys", key: "key_hash", keyType: "bytea", hasRevision: false },
    columns: [one("response", "idempotency")],
  },
];

/** A range of a table in key order. Keys are in PostgreSQL's text form. */
export interface KeyRange {
  readonly after: string | undefined;
  /** Inclusive. Absent: to the end. */
  readonly last: string | undefined;
}

/** The key versions that new values are sealed under. */
export type CurrentVersions = Readonly<Record<SealingPurpose, number>>;

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

/** The statements on the sealed rows of one table. */
export interface SealedRowStatements {
  /** The key of the last row of the next range with this many rows. Null: fewer are left. */
  readonly endOf: Statement<{ readonly after: string | undefined; readonly rows: number }, string | null>;
  /** The rows of a range with a value that is not sealed under the current key. */
  readonly stale: Statement<KeyRange & { readonly current: CurrentVersions }, readonly SealedRow[]>;
  /** The number of those rows. */
  readonly countStale: Statement<KeyRange & { readonly current: CurrentVersions }, number>;
  /** Replaces values with the same values sealed again. Returns whether the row was unchanged meanwhile. */
  readonly replace: Statement<Resealed, boolean>;
}

/** Makes the statements for a table. Call it once per table, because transactions identify statements by reference. */
export function sealedRowStatements(sealedTable: SealedTable): SealedRowStatements {
  const { table, key, keyType, columns } = sealedTable;
  const plainColumns = [...new Set(columns.flatMap(({ bound = [], plain }) => (plain ? [...bound, plain] : bound)))];
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
      outputs: (rows) => rows.map(([row]) => row?.key ?? null),
    }),
    stale: defineStatement<KeyRange & { current: CurrentVersions }, readonly SealedRow[], StaleRow>({
      ...shared,
      kind: "read",
      queries: (sql, tenantId, inputs) =>
        inputs.map(
          ({ after, last, current }) => sql`
            select ${sql.unsafe(key)}::text as sealed_key, ${sql([...columns.map(({ name }) => name), ...plainColumns])}
            from ${sql(table)} where tenant_id = ${tenantId} and (${sql.unsafe(staleness(columns, current))})
              ${after === undefined ? sql`` : sql`and ${sql(key)} > ${after}::text::${sql.unsafe(keyType)}`}
              ${last === undefined ? sql`` : sql`and ${sql(key)} <= ${last}::text::${sql.unsafe(keyType)}`}
            order by ${sql.unsafe(`${table}.${key}`)}`,
        ),
      outputs: (rows) =>
        rows.map((found) =>
          found.map((row) => ({
            key: String(row.sealed_key),
            sealed: columns.map(({ name }) => bytesOf(row[name])),
            plain: Object.fromEntries(plainColumns.map((name) => [name, boundValueOf(row[name])])),
          })),
        ),
    }),
    countStale: defineStatement<KeyRange & { current: CurrentVersions }, number, { n: number }>({
      ...shared,
      kind: "read",
      queries: (sql, tenantId, inputs) =>
        inputs.map(
          ({ after, last, current }) => sql`
            select count(*)::int as n
            from ${sql(table)} where tenant_id = ${tenantId} and (${sql.unsafe(staleness(columns, current))})
              ${after === undefined ? sql`` : sql`and ${sql(key)} > ${after}::text::${sql.unsafe(keyType)}`}
              ${last === undefined ? sql`` : sql`and ${sql(key)} <= ${last}::text::${sql.unsafe(keyType)}`}`,
        ),
      outputs: (rows) => rows.map(([row]) => row?.n ?? 0),
    }),
    replace: replaceStatement(sealedTable),
  };
}

/** The condition on rows with a value that is not sealed under the current key. */
function staleness(columns: SealedTable["columns"], current: CurrentVersions): string {
  // Layout of a sealed value: format (1), key version (4), ... `<>` with null is not true.
  return columns
    .flatMap(({ name, purpose, plain }) => [
      `substring(${name} from 2 for 4) <> '\\x${hexOf(current[purpose])}'`,
      ...(plain ? [`${plain} <> ''`] : []),
    ])
    .join(" or ");
}

function replaceStatement({ table, key, keyType, hasRevision, columns }: SealedTable): SealedRowStatements["replace"] {
  return defineStatement<Resealed, boolean, unknown>({
    table,
    kind: "write",
    sortKey: ({ key: name }) => name,
    queries: (sql, tenantId, inputs) =>
      inputs.map(({ key: name, from, to }) => {
        const values = Object.fromEntries([
          ...columns.map((column, index) => [column.name, to[index] ?? null]),
          ...columns.flatMap(({ plain }) => (plain ? [[plain, ""]] : [])),
        ]);
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

type StaleRow = Readonly<Record<string, unknown>>;

function bytesOf(value: unknown): Buffer | null {
  return Buffer.isBuffer(value) ? value : null;
}

function boundValueOf(value: unknown): AadValue {
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

function hexOf(version: number): string {
  return version.toString(16).padStart(8, "0");
}
