import type { TenantId, Uuid } from "../../base/ids.js";
import type { PageRequest } from "../../base/page.js";
import { boundWrite } from "../statements/bound-statement.js";
import { defineList } from "../statements/counted-page.js";
import { defineDueWork } from "../statements/due-work.js";
import { bytes, text, time, uuid } from "../statements/parameter.js";
import {
  defineChange,
  defineCount,
  defineForEach,
  defineRead,
  defineRow,
  defineRows,
} from "../statements/row-statements.js";
import type { SqlTag, SqlText } from "../statements/sql-text.js";
import { lockedById } from "../transactions/row-lock.js";

export interface PaymentRow {
  readonly id: Uuid;
  readonly connection_id: Uuid;
  readonly token_id: string;
  readonly containers: string[];
  readonly status: string;
  readonly external_term: Buffer | null;
  readonly provider_id: string | null;
  readonly record: Buffer;
  readonly revision: number;
  readonly due_at: Date | null;
  readonly created_at: Date;
}

const COLUMNS =
  "id, connection_id, token_id, containers, status, external_term, provider_id, record, revision, due_at, created_at";

/**
 * How long no other process may work on a payment, on the database's clock. Longer than the timeout of payment
 * services.
 */
export const LEASE_SECONDS = 45;

/** Inserts a payment, leased to this process. */
export const insertPayment = defineChange<Omit<PaymentRow, "created_at" | "revision">>(
  "payments",
  (sql, tenantId, row, at) => sql`
    insert into payments (tenant_id, id, connection_id, token_id, containers, status, external_term, provider_id,
      record, revision, due_at, lease_until, created_at)
    values (${tenantId}, ${row.id}, ${row.connection_id}, ${row.token_id}, ${row.containers}, ${row.status},
      ${row.external_term}, ${row.provider_id}, ${row.record}, 1, ${row.due_at},
      now() + ${LEASE_SECONDS} * interval '1 second', ${at})`,
);

/** A payment, and whether a process works on it. */
export type LeasedPaymentRow = PaymentRow & { readonly leased: boolean };

export const readPayment = defineRead<LeasedPaymentRow>(
  "payments",
  `${COLUMNS}, coalesce(lease_until > now(), false) as leased`,
);

export const lockPayment = lockedById("payments", readPayment);

export interface ProviderName {
  readonly connectionId: Uuid;
  readonly providerId: string;
}

export const findPaymentByProvider = defineForEach<ProviderName, Uuid | null, { readonly id: Uuid }>(
  "read",
  "payments",
  (sql, tenantId, { connectionId, providerId }) => sql`
    select id from payments
    where tenant_id = ${tenantId} and connection_id = ${connectionId} and provider_id = ${providerId} limit 1`,
  ([row]) => row?.id ?? null,
);

export type PaymentChange = Omit<PaymentRow, "created_at" | "revision">;

/**
 * Changes a locked payment. The worker takes its lease or takes it again (`renewed`), keeps it (`kept`) or gives it back
 * (`released`). These are three statements, because Citus refuses `now()` within a CASE of an update ("non-IMMUTABLE functions are not
 * allowed in CASE or COALESCE statements").
 */
export const updatePayment = {
  renewed: definePaymentUpdate(`now() + ${LEASE_SECONDS} * interval '1 second'`),
  kept: definePaymentUpdate("lease_until"),
  released: definePaymentUpdate("null"),
};

function definePaymentUpdate(leaseUntil: string) {
  return boundWrite<PaymentChange>({
    table: "payments",
    sql: `
      update payments set status = :status, provider_id = :provider_id, record = :record, due_at = :due_at,
        lease_until = ${leaseUntil}, revision = revision + 1
      where tenant_id = :tenant and id = :id`,
    parameters: {
      id: uuid(({ id }) => id),
      status: text(({ status }) => status),
      provider_id: text(({ provider_id }) => provider_id),
      record: bytes(({ record }) => record),
      due_at: time(({ due_at }) => due_at),
    },
  });
}

export const { claim: claimPayments, hasDue: hasPaymentsDue } = defineDueWork<PaymentRow>("payments", {
  change: "revision = revision + 1",
  columns: COLUMNS,
});

/** One property of the charged token, or of one of its containers. */
export type PaymentCondition =
  | { readonly tokenId: string }
  | { readonly tokenIdPrefix: string }
  | { readonly container: string }
  | { readonly containerPrefix: string };

/** Payments whose token meets all of these. */
export type PaymentScope = readonly PaymentCondition[];

export interface PaymentFilter {
  readonly status: string | undefined;
  readonly externalTerm: Buffer | undefined;
  readonly id: Uuid | undefined;
  /** Of each group, at least one must match. Empty: all payments of the tenant. */
  readonly scopes: readonly (readonly PaymentScope[])[];
}

export type PaymentListing = PaymentFilter & PageRequest;

export const listPaymentRows = defineList<PaymentListing, PaymentRow>(
  "payments",
  COLUMNS,
  (sql, listing) => sql`${indexed(sql, listing)} ${inScopes(sql, listing.scopes)}`,
);

/** The position of a payment in a list. */
export interface PaymentKey {
  readonly created_at: Date;
  readonly id: Uuid;
}

/** A part of a list, newest first: after one key, through another. */
export interface PaymentRange extends PaymentFilter {
  readonly after: PaymentKey | undefined;
  readonly through: PaymentKey | undefined;
}

/** The key that ends a step of this many payments, of which scopes hide some. */
export const findStepEnd = defineRow<Omit<PaymentRange, "through"> & { readonly size: number }, PaymentKey>(
  "payments",
  (sql, tenantId, { size, ...range }) => sql`
    select created_at, id from payments
    where tenant_id = ${tenantId} ${indexed(sql, range)} ${within(sql, { ...range, through: undefined })}
    order by created_at desc, id desc limit 1 offset ${size - 1}`,
);

export const countPaymentsWithin = defineCount<PaymentRange>(
  "payments",
  (sql, tenantId, range) => sql`select count(*) as n from payments where ${visibleWithin(sql, tenantId, range)}`,
);

export const listPaymentsWithin = defineRows<
  PaymentRange & { readonly offset: number; readonly limit: number },
  PaymentRow
>(
  "payments",
  (sql, tenantId, { offset, limit, ...range }) => sql`
    select ${sql.unsafe(COLUMNS)} from payments where ${visibleWithin(sql, tenantId, range)}
    order by created_at desc, id desc limit ${limit} offset ${offset}`,
);

function visibleWithin(sql: SqlTag, tenantId: TenantId, range: PaymentRange): SqlText {
  return sql`tenant_id = ${tenantId} ${indexed(sql, range)} ${within(sql, range)} ${inScopes(sql, range.scopes)}`;
}

function within(sql: SqlTag, { after, through }: PaymentRange): SqlText {
  const begins = after ? sql`and (created_at, id) < (${after.created_at}, ${after.id})` : sql``;
  return through ? sql`${begins} and (created_at, id) >= (${through.created_at}, ${through.id})` : begins;
}

/** The conditions that have indexes. */
function indexed(sql: SqlTag, { status, externalTerm, id }: PaymentFilter): SqlText {
  return sql`${status === undefined ? sql`` : sql`and status = ${status}`}
      ${externalTerm === undefined ? sql`` : sql`and external_term = ${externalTerm}`}
      ${id === undefined ? sql`` : sql`and id = ${id}`}`;
}

/** The conditions that each payment is compared with. */
function inScopes(sql: SqlTag, scopes: PaymentFilter["scopes"]): SqlText {
  const isMet = (condition: PaymentCondition) => {
    if ("tokenId" in condition) return sql`token_id = ${condition.tokenId}`;
    if ("tokenIdPrefix" in condition) return sql`starts_with(token_id, ${condition.tokenIdPrefix})`;
    if ("container" in condition) return sql`${condition.container} = any(containers)`;
    return sql`exists (select from unnest(containers) path where starts_with(path, ${condition.containerPrefix}))`;
  };
  const matches = (scope: PaymentScope) =>
    scope.reduce((all, condition) => sql`${all} and ${isMet(condition)}`, sql`true`);
  const matchesOne = (group: readonly PaymentScope[]) =>
    group.reduce((one, scope) => sql`${one} or (${matches(scope)})`, sql`false`);
  return scopes.reduce((all, group) => sql`${all} and (${matchesOne(group)})`, sql``);
}
