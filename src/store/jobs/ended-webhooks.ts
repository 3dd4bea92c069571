import type { TenantId, Uuid } from "../../base/ids.js";
import { defineForEach, defineRows } from "../statements/row-statements.js";
import type { Query, SqlTag } from "../statements/statement.js";
import type { Transaction } from "../transactions/transaction.js";
import { scheduleDue } from "./due.js";

/**
 * Rows of one statement, and those of the same time as the last. A statement may take 5 s: with a hundred thousand rows it
 * took 3.4 s on a busy machine.
 */
const ENDED_AT_ONCE = 10_000;

/**
 * Ends what waits for a webhook that the transaction disables, or the first 10,000 of it: the delivery queue ends the
 * others. Returns whether there may be others.
 */
export async function failWaiting(tx: Transaction, webhookId: Uuid, problem: string): Promise<boolean> {
  return leaveRest(tx, await tx.query(failSomeWaiting, { webhookId, problem }));
}

/** The same for all events of a webhook that the transaction deletes. */
export async function deleteWebhookDeliveries(tx: Transaction, webhookId: Uuid): Promise<boolean> {
  return leaveRest(tx, await tx.query(deleteSomeDeliveries, webhookId));
}

function leaveRest(tx: Transaction, ended: number): boolean {
  if (ended < ENDED_AT_ONCE) return false;
  scheduleDue(tx, { kind: "webhook_delivery", at: tx.now });
  return true;
}

const failSomeWaiting = defineForEach<{ readonly webhookId: Uuid; readonly problem: string }, number, unknown>(
  "write",
  "webhook_deliveries",
  (sql, tenantId, { webhookId, problem }) => sql`
    update webhook_deliveries set state = 'failed', problem = ${problem}, lease_until = null, claim = claim + 1
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and state = 'waiting' and number <= (
      select max(number) from (
        select number from webhook_deliveries
        where tenant_id = ${tenantId} and webhook_id = ${webhookId} and state = 'waiting'
        order by number limit ${ENDED_AT_ONCE}
      ) oldest
    ) returning 1`,
  ({ length }) => length,
);

const deleteSomeDeliveries = defineForEach<Uuid, number, unknown>(
  "write",
  "webhook_deliveries",
  (sql, tenantId, webhookId) => sql`
    delete from webhook_deliveries where tenant_id = ${tenantId} and webhook_id = ${webhookId} and created_at <= (
      select max(created_at) from (
        select created_at from webhook_deliveries where tenant_id = ${tenantId} and webhook_id = ${webhookId}
        order by created_at limit ${ENDED_AT_ONCE}
      ) oldest
    ) returning 1`,
  ({ length }) => length,
);

/**
 * Webhooks that are disabled, with events that wait, and deleted ones with any. An event whose writer had not committed by
 * then is one of these too. The ids are read one by one along the index: a tenant has at most five webhooks at a time.
 */
export function endedWebhooks(sql: SqlTag, tenantId: TenantId): Query<{ readonly webhook_id: Uuid }> {
  return sql`
    with recursive ids(id) as (
      (select webhook_id from webhook_deliveries where tenant_id = ${tenantId} order by webhook_id limit 1)
      union all
      select (
        select webhook_id from webhook_deliveries d where d.tenant_id = ${tenantId} and d.webhook_id > ids.id
        order by webhook_id limit 1)
      from ids where id is not null)
    select ids.id as webhook_id from ids left join webhooks w on w.tenant_id = ${tenantId} and w.id = ids.id
    where ids.id is not null and (w.id is null or not w.enabled and exists (
      select 1 from webhook_deliveries d where d.tenant_id = ${tenantId} and d.webhook_id = w.id and d.state = 'waiting'))`;
}

export const listEndedWebhooks = defineRows<"ended", { readonly webhook_id: Uuid }>(
  "webhook_deliveries",
  (sql, tenantId) => endedWebhooks(sql, tenantId),
);
