import type { Uuid } from "../../base/ids.js";
import { defineStatement, defineWrite } from "../statements/statement.js";

export interface RefundRow {
  readonly id: Uuid;
  readonly payment_id: Uuid;
  readonly record: Buffer;
  readonly created_at: Date;
}

export const insertRefund = defineWrite<Omit<RefundRow, "created_at">>({
  table: "refunds",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, revision: 1, created_at: at, ...input };
      return sql`insert into refunds ${sql(row)}`;
    }),
});

export const readRefund = defineStatement<Uuid, RefundRow | null, RefundRow>({
  table: "refunds",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`
      select id, payment_id, record, created_at from refunds
      where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
});

/** All refunds of a payment, newest first. */
export const listRefundRows = defineStatement<Uuid, readonly RefundRow[], RefundRow>({
  table: "refunds",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map(
      (id) => sql`
        select id, payment_id, record, created_at from refunds
        where tenant_id = ${tenantId} and payment_id = ${id} order by created_at desc, id desc`,
    ),
  answers: (rows) => rows,
});

/** Written together with its payment, whose revision guards both. */
export const updateRefund = defineWrite<Pick<RefundRow, "id" | "record">>({
  table: "refunds",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, changes) =>
    changes.map(
      ({ id, record }) => sql`
        update refunds set record = ${record}, revision = revision + 1
        where tenant_id = ${tenantId} and id = ${id}`,
    ),
});
