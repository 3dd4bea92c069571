/** Tables that only ordinary transactions write. Their statements run in call order. */
const ORDINARY_TABLES = [
  "tenant_keys",
  "members",
  "member_identities",
  "passkeys",
  "sign_ins",
  "sign_in_requests",
  "known_browsers",
  "invitations",
  "outbox",
  "mail_counts",
  "applications",
  "application_keys",
  "sessions",
  "proxies",
  "reactor_formulas",
  "reactors",
  "reactor_runs",
  "webhooks",
  "webhook_signing_keys",
  "token_exports",
  "failed_runs",
  "connections",
  "payments",
  "refunds",
  "simulator_payments",
  "three_ds_sessions",
  "audit_seals",
  "audit_heads",
  "audit_sinks",
  "audit_anchors",
  "audit_stamps",
  "log_outages",
  "log_counts",
  "log_actor_counts",
] as const;

/**
 * The order in which shared transactions lock rows, which prevents deadlocks between them. Ordinary transactions follow
 * it for the statements that run with the commit. Counters come last: all requests of a tenant share their rows, which
 * must be locked for the shortest time.
 */
const LOCK_ORDER = [
  "tenants",
  // A writer of a code has locked its token's row in an earlier step, or generated its id.
  "token_cvc",
  "tokens",
  "token_terms",
  "idempotency_keys",
  "audit_logs",
  // Its statement also notes that there is something to send: in `due`, under a kind that no other statement notes.
  "webhook_deliveries",
  "token_activity",
  "due",
  "token_counts",
] as const;

export type Table = (typeof ORDINARY_TABLES)[number] | (typeof LOCK_ORDER)[number];

/** All tables of tenants. Foreign keys refer only to rows of earlier tables. */
export const TABLES: readonly Table[] = ["tenants", ...ORDINARY_TABLES, ...LOCK_ORDER.slice(1)];

const RANKED: readonly Table[] = LOCK_ORDER;

/** Whether a statement runs first or last among those on its table in one step. */
export type StatementRank = "first" | "last" | undefined;

/** The rank of a statement within a step. Statements that lock no row of a shared transaction come first. */
export function lockRank(table: Table, position: StatementRank): number {
  const within = position === "first" ? 0 : position === "last" ? 0.75 : 0.5;
  return RANKED.indexOf(table) + within;
}
