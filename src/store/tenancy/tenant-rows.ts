import { defineChange, defineForEach } from "../statements/row-statements.js";
import { type Statement, TABLES, type Table } from "../statements/statement.js";

/**
 * The columns that identify a deleted tenant's rows: the primary key of each table without `tenant_id`. `kept` marks the
 * row that records that the tenant existed, and the note that something is left to remove.
 */
const KEYS: Readonly<Record<Table, string | "kept">> = {
  tenants: "kept",
  due: "kept",
  tenant_keys: "purpose, version",
  application_keys: "id",
  applications: "id",
  sessions: "id",
  members: "id",
  member_identities: "id",
  passkeys: "id",
  sign_ins: "id",
  sign_in_requests: "id",
  known_browsers: "member_id, slot",
  invitations: "id",
  outbox: "id",
  mail_counts: "counted, hour",
  proxies: "id",
  reactors: "id",
  reactor_formulas: "id",
  reactor_runs: "id",
  failed_runs: "id",
  webhooks: "id",
  webhook_deliveries: "event_id, webhook_id",
  webhook_signing_keys: "id",
  token_exports: "id",
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
  audit_seals: "number",
  // One row, whatever its number.
  audit_heads: "number",
  audit_sinks: "sink",
  audit_anchors: "number",
  audit_stamps: "id",
  log_outages: "part",
  log_counts: "step, at, operation, entity_type, outcome, shown",
  log_actor_counts: "day, actor_id, outcome, shown",
};

export interface Removal {
  /** Deletes the first rows, up to this many, if there are that many. Returns how many it deleted. */
  readonly some: Statement<number, number>;
  readonly rest: Statement<"all", never>;
}

/** In reverse lock order: rows are deleted before the rows that they refer to. */
export const REMOVALS: readonly Removal[] = TABLES.toReversed().flatMap((table) => {
  const key = KEYS[table];
  return key === "kept" ? [] : [removalOf(table, key)];
});

/** The names of tables and columns are ours, and therefore safe in the text of a query. */
function removalOf(table: Table, key: string): Removal {
  const some = `
    delete from ${table} where tenant_id = $1::uuid and (${key}) <= (
      select ${key} from ${table} where tenant_id = $1::uuid order by ${key} offset $2::int - 1 limit 1)
    returning 1`;
  return {
    some: defineForEach<number, number, unknown>(
      "write",
      table,
      (sql, tenantId, limit) => sql.unsafe(some, [tenantId, limit]),
      ({ length }) => length,
    ),
    rest: defineChange<"all">(table, (sql, tenantId) => sql`delete from ${sql(table)} where tenant_id = ${tenantId}`),
  };
}
