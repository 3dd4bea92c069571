import { defineStatement, defineWrite, type Statement, TABLES, type Table } from "./statement.js";

/**
 * What a deleted tenant's rows are told apart by within the tenant: the rest of each table's primary key. `kept` are the
 * row that says that the tenant was there, and the note that there is something to remove.
 */
const KEYS: Readonly<Record<Table, string | "kept">> = {
  tenants: "kept",
  due: "kept",
  tenant_keys: "purpose, version",
  application_keys: "id",
  applications: "id",
  sessions: "id",
  members: "id",
  invitations: "id",
  outbox: "id",
  proxies: "id",
  reactors: "id",
  reactor_formulas: "id",
  reactor_runs: "id",
  failed_runs: "id",
  refunds: "id",
  payments: "id",
  connections: "id",
  simulator_payments: "reference",
  three_ds_sessions: "id",
  token_terms: "term, created_at, token_id",
  token_cvc: "token_id",
  tokens: "id",
  idempotency_keys: "key_hash",
  token_activity: "month, slot",
  token_counts: "type, slot",
  audit_logs: "created_at, id",
  audit_seals: "window_start",
  // One row, whatever its number.
  audit_heads: "number",
};

/** How a table is emptied of a tenant. */
export interface Removal {
  /** Deletes the first so many rows, where there are that many; answers how many it deleted. */
  readonly some: Statement<number, number>;
  /** Deletes what is left. */
  readonly rest: Statement<"all", never>;
}

/** Against the order in which rows are locked: rows that refer to others go before those. */
export const REMOVALS: readonly Removal[] = TABLES.toReversed().flatMap((table) => {
  const key = KEYS[table];
  return key === "kept" ? [] : [removalOf(table, key)];
});

/** Names of tables and columns are ours, so that they can stand in the text of a query. */
function removalOf(table: Table, key: string): Removal {
  const some = `
    delete from ${table} where tenant_id = $1::uuid and (${key}) <= (
      select ${key} from ${table} where tenant_id = $1::uuid order by ${key} offset $2::int - 1 limit 1)
    returning 1`;
  return {
    some: defineStatement<number, number, unknown>({
      table,
      kind: "write",
      sortKey: () => "",
      queries: (sql, tenantId, limits) => limits.map((limit) => sql.unsafe(some, [tenantId, limit])),
      answers: (rows) => rows.map(({ length }) => length),
    }),
    rest: defineWrite<"all">({
      table,
      sortKey: () => "",
      queries: (sql, tenantId) => [sql.unsafe(`delete from ${table} where tenant_id = $1::uuid`, [tenantId])],
    }),
  };
}
