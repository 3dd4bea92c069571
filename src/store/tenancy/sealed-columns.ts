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

const column = (name: string, field: string, bound?: readonly string[]): SealedColumn => ({
  name,
  field,
  purpose: "data",
  ...(bound && { bound }),
});
const NAME = column("name", "name");
const byId = { key: "id", keyType: "uuid", hasRevision: false } as const;
const versioned = { ...byId, hasRevision: true } as const;

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

/** Every sealed column; a test compares this with the schema. */
export const SEALED_TABLES: readonly SealedTable[] = [
  { table: "members", ...byId, columns: [column("profile", "profile", AAD_COLUMNS.members)] },
  {
    table: "member_identities",
    ...byId,
    columns: [column("proof", "member_identity", AAD_COLUMNS.member_identities)],
  },
  { table: "passkeys", ...byId, columns: [column("details", "passkey", AAD_COLUMNS.passkeys)] },
  { table: "sign_ins", ...byId, columns: [column("details", "sign_in", AAD_COLUMNS.sign_ins)] },
  {
    table: "sign_in_requests",
    ...byId,
    columns: [column("details", "sign_in_request", AAD_COLUMNS.sign_in_requests)],
  },
  { table: "invitations", ...byId, columns: [column("email", "email")] },
  { table: "applications", ...byId, columns: [column("definition", "application", AAD_COLUMNS.applications), NAME] },
  {
    table: "application_keys",
    ...byId,
    columns: [column("proof", "application_key", AAD_COLUMNS.application_keys), column("details", "key_details")],
  },
  { table: "sessions", ...byId, columns: [column("rights", "session", AAD_COLUMNS.sessions)] },
  {
    table: "proxies",
    ...versioned,
    columns: [column("definition", "proxy", AAD_COLUMNS.proxies), NAME],
  },
  { table: "reactor_formulas", ...versioned, columns: [column("definition", "formula"), NAME] },
  {
    table: "reactors",
    ...versioned,
    columns: [column("definition", "reactor", AAD_COLUMNS.reactors), NAME],
  },
  {
    table: "reactor_runs",
    ...byId,
    columns: [
      column("request", "run_request", AAD_COLUMNS.reactor_runs),
      column("result", "run_result", AAD_COLUMNS.reactor_runs),
    ],
  },
  {
    table: "connections",
    ...versioned,
    columns: [column("fields", "connection", AAD_COLUMNS.connections), NAME],
  },
  {
    table: "token_exports",
    ...byId,
    columns: [column("definition", "token_export", AAD_COLUMNS.token_exports)],
  },
  { table: "webhooks", ...versioned, columns: [column("definition", "webhook", AAD_COLUMNS.webhooks)] },
  {
    table: "webhook_deliveries",
    ...byId,
    key: "event_id",
    columns: [column("content", "event", AAD_COLUMNS.webhook_deliveries)],
  },
  { table: "webhook_signing_keys", ...byId, columns: [column("private_key", "webhook_signing_key")] },
  { table: "failed_runs", ...byId, columns: [column("record", "failed_run")] },
  // Without a new revision: work on a payment continues between reading and writing, and must not find the row changed.
  { table: "payments", ...byId, columns: [column("record", "payment", AAD_COLUMNS.payments)] },
  { table: "refunds", ...byId, columns: [column("record", "refund", AAD_COLUMNS.refunds)] },
  {
    table: "three_ds_sessions",
    ...byId,
    columns: [column("record", "three_ds_session", AAD_COLUMNS.three_ds_sessions)],
  },
  {
    table: "tokens",
    ...versioned,
    keyType: "text",
    columns: [column("data", "data", AAD_COLUMNS.tokens), column("attributes", "attributes", AAD_COLUMNS.tokens)],
  },
  {
    table: "token_cvc",
    key: "token_id",
    keyType: "text",
    hasRevision: false,
    columns: [{ ...column("code", "cvc"), purpose: "cvc" }],
  },
  {
    table: "idempotency_keys",
    key: "key_hash",
    keyType: "bytea",
    hasRevision: false,
    columns: [column("response", "idempotency")],
  },
];
