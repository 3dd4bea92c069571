import type { Uuid } from "../../base/ids.js";
import { defineChange, defineInsert, defineRead, defineRows } from "../statements/row-statements.js";

export interface RefundRow {
  readonly id: Uuid;
  readonly payment_id: Uuid;
  readonly record: Buffer;
  readonly created_at: Date;
}

const COLUMNS = "id, payment_id, record, created_at";

export const insertRefund = defineInsert<Omit<RefundRow, "created_at">>("refunds", { revision: 1 });

export const readRefund = defineRead<RefundRow>("refunds", COLUMNS);

export const listRefundRows = defineRows<Uuid, RefundRow>(
  "refunds",
  (sql, tenantId, id) => sql`
    select ${sql.unsafe(COLUMNS)} from refunds
    where tenant_id = ${tenantId} and payment_id = ${id} order by created_at desc, id desc`,
);

/** Written together with its payment, whose revision guards both. */
export const updateRefund = defineChange<Pick<RefundRow, "id" | "record">>(
  "refunds",
  (sql, tenantId, { id, record }) => sql`
    update refunds set record = ${record}, revision = revision + 1
    where tenant_id = ${tenantId} and id = ${id}`,
);
