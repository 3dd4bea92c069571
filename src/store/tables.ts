/** Tables that only ordinary transactions write. The statements on them run in the order of the calls. */
const ORDINARY_TABLES = [
  "tenant_keys",
  "members",
  "invitations",
  "outbox",
  "applications",
  "application_keys",
  "sessions",
  "proxies",
  "reactor_formulas",
  "reactors",
  "reactor_runs",
  "failed_runs",
  "connections",
  "payments",
  "refunds",
  "simulator_payments",
  "three_ds_sessions",
  "audit_seals",
  "audit_heads",
] as const;

/**
 * The order in which a shared transaction locks rows, so that no two of them wait for each other crosswise. Ordinary
 * transactions follow it with what they run at the commit. Counters come last: their rows are shared by all requests of a
 * tenant, and a lock on them is to be held for the shortest time.
 */
const LOCK_ORDER = [
  "tenants",
  // A writer of a code holds its token's row since an earlier step, or made up its id.
  "token_cvc",
  "tokens",
  "token_terms",
  "idempotency_keys",
  "audit_logs",
  "token_activity",
  "due",
  "token_counts",
] as const;

export type Table = (typeof ORDINARY_TABLES)[number] | (typeof LOCK_ORDER)[number];

/** All tables of tenants. Rows refer only to those of tables that come before their own. */
export const TABLES: readonly Table[] = ["tenants", ...ORDINARY_TABLES, ...LOCK_ORDER.slice(1)];

const RANKED: readonly Table[] = LOCK_ORDER;

/** Where among the statements on its table a statement runs in one step. */
export type Position = "first" | "last" | undefined;

/** The rank of a statement among those of a step. What locks no row of a shared transaction comes first. */
export function rankOf(table: Table, position: Position): number {
  const within = position === "first" ? 0 : position === "last" ? 0.75 : 0.5;
  return RANKED.indexOf(table) + within;
}
