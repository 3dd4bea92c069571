import type { TenantId } from "../base/ids.js";
import type { Sql } from "./connect.js";
import { defineWrite } from "./statement.js";

/** What sweeps look for. */
export type DueKind = "token" | "cvc" | "session" | "idempotency_key";

export interface Due {
  readonly kind: DueKind;
  readonly at: Date;
}

const MINUTE_MS = 60_000;

/** Tells the sweeps that this tenant has something to do in a minute: one row a tenant, kind and minute. */
export const noteDue = defineWrite<Due>({
  table: "due",
  sortKey: ({ kind, at }) => `${kind} ${at.getTime()}`,
  queries(sql, tenantId, dues) {
    const rows = new Map(
      dues.map(({ kind, at }) => {
        const minute = new Date(Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS);
        return [`${kind} ${minute.getTime()}`, { tenant_id: tenantId, kind, due_at: minute }];
      }),
    );
    return [sql`insert into due ${sql([...rows.values()])} on conflict do nothing`];
  },
});

/** A minute in which a tenant has something to do. */
export interface DueMinute {
  readonly tenantId: TenantId;
  readonly kind: DueKind;
  readonly minute: Date;
}

/** The minutes that have begun, oldest first, a thousand at a time. The only question that is asked across tenants. */
export async function listDue(sql: Sql, now: Date, after: DueMinute | undefined): Promise<readonly DueMinute[]> {
  return sql<DueMinute[]>`
    select tenant_id as "tenantId", kind, due_at as minute from due
    where due_at <= ${now}
      ${after ? sql`and (due_at, tenant_id, kind) > (${after.minute}, ${after.tenantId}, ${after.kind})` : sql``}
    order by due_at, tenant_id, kind limit 1000`;
}

/** Forgets a minute once it is over and swept: until then, rows of it may still become due. */
export const forgetDue = defineWrite<Pick<DueMinute, "kind" | "minute">>({
  table: "due",
  sortKey: ({ kind, minute }) => `${kind} ${minute.getTime()}`,
  queries: (sql, tenantId, minutes, at) =>
    minutes.map(
      ({ kind, minute }) => sql`
        delete from due
        where tenant_id = ${tenantId} and kind = ${kind} and due_at = ${minute}
          and due_at <= ${new Date(at.getTime() - MINUTE_MS)}`,
    ),
});
