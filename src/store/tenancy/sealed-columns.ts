import type { Table } from "../statements/tables.js";

export type SealingPurpose = "data" | "cvc";

/** A column that holds a sealed value, with its key purpose and its field name. */
export interface SealedColumn {
  readonly name: string;
  readonly purpose: SealingPurpose;
  readonly field: string;
  /** The plain columns that it is bound to. */
  readonly bound?: readonly string[];
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

/**
 * The plain columns that sealed values of the same row are bound to: those that decide who may see or use the values,
 * and how.
 */
export const AAD_COLUMNS = {
  members: ["user_id", "created_by"],
  applications: ["type", "created_by"],
  application_keys: ["application_id", "key_hash", "created_by", "expires_at"],
  member_identities: ["member_id", "identity_term"],
  passkeys: ["member_id", "credential_hash"],
  sign_ins: ["token_hash", "member_id", "method", "expires_at", "strong_at"],
  sign_in_requests: ["method", "browser_hash", "expires_at"],
  sessions: ["key_hash", "nonce_hash", "application_id", "authorized_by", "expires_at"],
  proxies: ["application_id", "require_auth", "created_by"],
  reactors: ["application_id", "formula_id", "created_by"],
  reactor_runs: ["reactor_id", "application_id"],
  webhooks: ["events", "created_by"],
  webhook_deliveries: ["event_type", "entity_type", "entity_id", "actor_id", "actor_type", "trace_id", "created_at"],
  connections: ["formula_id", "accepted_countries", "accepted_currencies", "active"],
  payments: ["connection_id", "token_id", "containers", "status", "provider_id"],
  refunds: ["payment_id"],
  three_ds_sessions: ["token_id", "payment_id"],
  token_exports: ["application_id", "created_by", "approved_by", "expires_at"],
  // The revision: data and attributes from different writes do not open together.
  tokens: ["type", "containers", "revision", "fingerprint", "dedupe_key"],
} as const;

/** Names of sealed columns, each with its field. */
type Fields = Readonly<Record<string, string>>;
type TableKind = Omit<SealedTable, "table" | "columns">;

const BY_ID: TableKind = { key: "id", keyType: "uuid", hasRevision: false };
const VERSIONED: TableKind = { ...BY_ID, hasRevision: true };
const NAME: Fields = { name: "name" };

/** Every sealed column; a test compares this with the schema. */
export const SEALED_TABLES: readonly SealedTable[] = [
  sealedTable("members", BY_ID, { profile: "profile" }),
  sealedTable("member_identities", BY_ID, { proof: "member_identity" }),
  sealedTable("passkeys", BY_ID, { details: "passkey" }),
  sealedTable("sign_ins", BY_ID, { details: "sign_in" }),
  sealedTable("sign_in_requests", BY_ID, { details: "sign_in_request" }),
  sealedTable("invitations", BY_ID, {}, { email: "email" }),
  sealedTable("applications", BY_ID, { definition: "application" }, NAME),
  sealedTable("application_keys", BY_ID, { proof: "application_key" }, { details: "key_details" }),
  sealedTable("sessions", BY_ID, { rights: "session" }),
  sealedTable("proxies", VERSIONED, { definition: "proxy" }, NAME),
  sealedTable("reactor_formulas", VERSIONED, {}, { definition: "formula", ...NAME }),
  sealedTable("reactors", VERSIONED, { definition: "reactor" }, NAME),
  sealedTable("reactor_runs", BY_ID, { request: "run_request", result: "run_result" }),
  sealedTable("connections", VERSIONED, { fields: "connection" }, NAME),
  sealedTable("token_exports", BY_ID, { definition: "token_export" }),
  sealedTable("webhooks", VERSIONED, { definition: "webhook" }),
  sealedTable("webhook_deliveries", { ...BY_ID, key: "event_id" }, { content: "event" }),
  sealedTable("webhook_signing_keys", BY_ID, {}, { private_key: "webhook_signing_key" }),
  sealedTable("failed_runs", BY_ID, {}, { record: "failed_run" }),
  // Without a new revision: work on a payment continues between reading and writing, and must not find the row changed.
  sealedTable("payments", BY_ID, { record: "payment" }),
  sealedTable("refunds", BY_ID, { record: "refund" }),
  sealedTable("three_ds_sessions", BY_ID, { record: "three_ds_session" }),
  sealedTable("tokens", { ...VERSIONED, keyType: "text" }, { data: "data", attributes: "attributes" }),
  {
    table: "token_cvc",
    key: "token_id",
    keyType: "text",
    hasRevision: false,
    columns: [{ name: "code", field: "cvc", purpose: "cvc" }],
  },
  sealedTable("idempotency_keys", { ...BY_ID, key: "key_hash", keyType: "bytea" }, {}, { response: "idempotency" }),
];

/** @param bound the columns whose values are bound to {@link AAD_COLUMNS} of the table, with their fields. */
function sealedTable(table: Table, kind: TableKind, bound: Fields, unbound: Fields = {}): SealedTable {
  const to: Partial<Record<Table, readonly string[]>> = AAD_COLUMNS;
  const columns = (fields: Fields, plain: readonly string[] | undefined) =>
    Object.entries(fields).map(
      ([name, field]): SealedColumn => ({ name, field, purpose: "data", ...(plain && { bound: plain }) }),
    );
  return { table, ...kind, columns: [...columns(bound, to[table]), ...columns(unbound, undefined)] };
}
