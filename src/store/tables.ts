/**
 * The order in which a shared transaction touches tables, so that no two of them wait for each other crosswise. Counters
 * come last: their rows are shared, and a lock on them is to be held for the shortest time.
 */
const LOCK_ORDER = [
  "tenants",
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
  // Before the tokens, whose rows are read together with their codes: a read beside a change sees all of it or nothing.
  // A writer of a code holds its token's row since an earlier step, or made up its id.
  "token_cvc",
  "tokens",
  "token_terms",
  "idempotency_keys",
  "audit_logs",
  "audit_seals",
  "audit_heads",
  "token_activity",
  "due",
  "token_counts",
] as const;

export type Table = (typeof LOCK_ORDER)[number];

/** All tables that transactions touch, in the order in which they do. */
export const TABLES: readonly Table[] = LOCK_ORDER;

/** Where among the statements on its table a statement runs in one step. */
export type Position = "first" | "last" | undefined;

/** The rank of a statement among those of a step. */
export function rankOf(table: Table, position: Position): number {
  const within = position === "first" ? 0 : position === "last" ? 0.75 : 0.5;
  return LOCK_ORDER.indexOf(table) + within;
}
