import { defineStatement } from "../statements/statement.js";

/** How far a tenant's log is closed, by the database's clock. */
export interface LogClosing {
  /** No row gets an earlier time. Null: nothing is closed yet. */
  readonly closed_until: Date | null;
  /** Where the log continues, while it is being set back. */
  readonly set_back_to: Date | null;
  /** The database's own time. */
  readonly now: Date;
}

export const readLogClosing = defineStatement<"closing", LogClosing | null, LogClosing>({
  table: "tenants",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [
    sql`
      select audit_closed_until as closed_until, audit_set_back_to as set_back_to, now() as now
      from tenants where tenant_id = ${tenantId}`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0] ?? null),
});

/** A log that is being set back. */
export interface Rewind {
  /** Where it continues: the first moment of a minute. */
  readonly to: Date;
  /** Up to where it is closed. */
  readonly closedUntil: Date;
}

export interface RewindRequest extends Rewind {
  /** The earliest place that still counts if it was noted before. */
  readonly earliest: Date;
}

/**
 * Notes where a log continues after its set-back, to let another process finish the set-back. Returns the place: the
 * requested one, or an earlier one that was noted before. Null: the log is no longer closed that far.
 */
export const planRewind = defineStatement<RewindRequest, Date | null, { readonly to: Date }>({
  table: "tenants",
  kind: "write",
  sortKey: ({ to }) => to.toISOString(),
  queries: (sql, tenantId, wishes) =>
    wishes.map(
      ({ to, earliest, closedUntil }) => sql`
        update tenants set audit_set_back_to =
          case when audit_set_back_to >= ${earliest} and audit_set_back_to < ${to} then audit_set_back_to else ${to} end
        where tenant_id = ${tenantId} and audit_closed_until = ${closedUntil} returning audit_set_back_to as "to"`,
    ),
  answers: (rows) => rows.map(([row]) => row?.to ?? null),
});

/**
 * Keeps other transactions from reopening a log that is being set back, until this one ends. Returns whether it is
 * still being set back.
 */
export const lockRewind = defineStatement<Rewind, boolean, unknown>({
  table: "tenants",
  kind: "read",
  sortKey: ({ to }) => to.toISOString(),
  queries: (sql, tenantId, plans) =>
    plans.map(
      ({ to, closedUntil }) => sql`
        select 1 from tenants
        where tenant_id = ${tenantId} and audit_closed_until = ${closedUntil} and audit_set_back_to = ${to}
        for no key update`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Reopens a log at the planned place of its set-back. Returns false if another process already did. */
export const reopenLog = defineStatement<Rewind, boolean, unknown>({
  table: "tenants",
  kind: "write",
  sortKey: ({ to }) => to.toISOString(),
  queries: (sql, tenantId, plans) =>
    plans.map(
      ({ to, closedUntil }) => sql`
        update tenants set audit_closed_until = ${to}, audit_set_back_to = null
        where tenant_id = ${tenantId} and audit_closed_until = ${closedUntil} and audit_set_back_to = ${to} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Keeps a log closed up to a moment until the transaction ends. Returns whether it is closed that far. */
export const lockClosedLog = defineStatement<Date, boolean, unknown>({
  table: "tenants",
  kind: "read",
  sortKey: (until) => until.toISOString(),
  queries: (sql, tenantId, moments) =>
    moments.map(
      (until) => sql`
        select 1 from tenants where tenant_id = ${tenantId} and audit_closed_until >= ${until} for no key update`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

export interface SupersededRange {
  readonly from: Date;
  readonly until: Date;
  /** The number of the mark that will record it. */
  readonly number: number;
  /** Most rows in one transaction, or slightly more: rows of the same moment go together. */
  readonly limit: number;
}

/** Sets rows of closed minutes aside, oldest first. Returns how many. */
export const markRowsSuperseded = defineStatement<SupersededRange, number, unknown>({
  table: "audit_logs",
  kind: "write",
  sortKey: ({ from }) => from.toISOString(),
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ from, until, number, limit }) => sql`
        update audit_logs set set_aside = ${number}
        where tenant_id = ${tenantId} and created_at >= ${from} and created_at < ${until} and set_aside is null
          and created_at <= (
            select max(oldest.created_at) from (
              select created_at from audit_logs
              where tenant_id = ${tenantId} and created_at >= ${from} and created_at < ${until} and set_aside is null
              order by created_at, id limit ${limit}
            ) oldest
          ) returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length),
});

/** The number of rows that a mark sets aside. */
export const countSuperseded = defineStatement<Omit<SupersededRange, "limit">, number, { readonly n: number }>({
  table: "audit_logs",
  kind: "read",
  sortKey: ({ from }) => from.toISOString(),
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ from, until, number }) => sql`
        select count(*) as n from audit_logs
        where tenant_id = ${tenantId} and created_at >= ${from} and created_at < ${until} and set_aside = ${number}`,
    ),
  answers: (rows) => rows.map(([row]) => row?.n ?? 0),
});
