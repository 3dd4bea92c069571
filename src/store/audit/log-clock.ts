import {
  defineCount,
  defineForEach,
  defineHasRow,
  defineHasWritten,
  defineRow,
  defineWrittenRow,
} from "../statements/row-statements.js";

/** How far a tenant's log is closed, by the database's clock. */
export interface LogClosing {
  /** No row gets an earlier time. Null: nothing is closed yet. */
  readonly closed_until: Date | null;
  /** Where the log continues, while it is being set back. */
  readonly set_back_to: Date | null;
  /** The database's own time. */
  readonly now: Date;
}

export const readLogClosing = defineRow<"closing", LogClosing>(
  "tenants",
  (sql, tenantId) => sql`
    select audit_closed_until as closed_until, audit_set_back_to as set_back_to, now() as now
    from tenants where tenant_id = ${tenantId}`,
);

export interface SetBack {
  /** Where it continues: the first moment of a minute. */
  readonly to: Date;
  /** Up to where it is closed. */
  readonly closedUntil: Date;
}

export interface SetBackRequest extends SetBack {
  /** The earliest moment that still counts if it was noted before. */
  readonly earliest: Date;
}

/**
 * Notes where a log continues after its set-back, to let another process finish the set-back. Returns the moment: the
 * requested one, or an earlier one that was noted before. Null: the log is no longer closed that far.
 */
export const planSetBack = defineWrittenRow<SetBackRequest, { readonly to: Date }>(
  "tenants",
  (sql, tenantId, { to, earliest, closedUntil }) => sql`
    update tenants set audit_set_back_to =
      case when audit_set_back_to >= ${earliest} and audit_set_back_to < ${to} then audit_set_back_to else ${to} end
    where tenant_id = ${tenantId} and audit_closed_until = ${closedUntil} returning audit_set_back_to as "to"`,
);

/**
 * Keeps other transactions from reopening a log that is being set back, until this one ends. Returns whether it is
 * still being set back.
 */
export const lockSetBack = defineHasRow<SetBack>(
  "tenants",
  (sql, tenantId, { to, closedUntil }) => sql`
    select 1 from tenants
    where tenant_id = ${tenantId} and audit_closed_until = ${closedUntil} and audit_set_back_to = ${to}
    for no key update`,
);

/** Reopens a log at the planned moment of its set-back. Returns false if another process already did. */
export const reopenLog = defineHasWritten<SetBack>(
  "tenants",
  (sql, tenantId, { to, closedUntil }) => sql`
    update tenants set audit_closed_until = ${to}, audit_set_back_to = null
    where tenant_id = ${tenantId} and audit_closed_until = ${closedUntil} and audit_set_back_to = ${to} returning 1`,
);

/** Keeps a log closed up to a moment until the transaction ends. Returns whether it is closed that far. */
export const lockClosedLog = defineHasRow<Date>(
  "tenants",
  (sql, tenantId, until) => sql`
    select 1 from tenants where tenant_id = ${tenantId} and audit_closed_until >= ${until} for no key update`,
);

export interface SetAsideRange {
  readonly from: Date;
  /** created_at less than this. */
  readonly until: Date;
  readonly number: number;
}

/** Sets the rows of closed minutes aside that are not yet. Returns how many. */
export const setRowsAside = defineForEach<SetAsideRange, number, unknown>(
  "write",
  "audit_logs",
  (sql, tenantId, { from, until, number }) => sql`
    update audit_logs set set_aside = ${number}
    where tenant_id = ${tenantId} and created_at >= ${from} and created_at < ${until} and set_aside is null
    returning 1`,
  ({ length }) => length,
);

export const countSetAside = defineCount<SetAsideRange>(
  "audit_logs",
  (sql, tenantId, { from, until, number }) => sql`
    select count(*) as n from audit_logs
    where tenant_id = ${tenantId} and created_at >= ${from} and created_at < ${until} and set_aside = ${number}`,
);
