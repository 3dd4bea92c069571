import { defineStatement } from "./statement.js";

/** How far a tenant's log is closed, by the database's clock. */
export interface LogClosing {
  /** No row is written with an earlier time. Null: nothing is closed yet. */
  readonly closed_until: Date | null;
  /** Where the log is to go on, while it is being set back. */
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
export interface SetBack {
  /** Where it goes on: the first moment of a minute. */
  readonly to: Date;
  /** How far it is closed. */
  readonly closedUntil: Date;
}

export interface SetBackWish extends SetBack {
  /** A place that was noted before counts if it is not earlier than this. */
  readonly earliest: Date;
}

/**
 * Notes where a log is to go on, so that another process can finish what this one begins. Answers the place: an earlier one
 * that was noted before, or the one that was asked for. Null: the log is not closed as far any more.
 */
export const planSetBack = defineStatement<SetBackWish, Date | null, { readonly to: Date }>({
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

/** Keeps others from opening a log that is being set back, to the end of the transaction. Answers whether it is still. */
export const holdSetBack = defineStatement<SetBack, boolean, unknown>({
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

/** Opens a log again where its set-back was planned. Answers whether nobody did before. */
export const reopenLog = defineStatement<SetBack, boolean, unknown>({
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

/** Keeps a log closed up to a moment, to the end of the transaction. Answers whether it is closed as far. */
export const holdClosed = defineStatement<Date, boolean, unknown>({
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

export interface SetAside {
  readonly from: Date;
  readonly until: Date;
  /** The number of the mark that is to say so. */
  readonly number: number;
  /** Rows in one transaction, or somewhat more: those of one moment go together. */
  readonly limit: number;
}

/** Sets rows of closed minutes aside, oldest first. Answers how many. */
export const setRowsAside = defineStatement<SetAside, number, unknown>({
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

/** How many rows a mark sets aside. */
export const countSetAside = defineStatement<Omit<SetAside, "limit">, number, { readonly n: number }>({
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
