import { defineWrite } from "./statement.js";

/** What sweeps look for. */
export type DueKind = "token" | "cvc" | "session" | "idempotency_key";

export interface Due {
  readonly kind: DueKind;
  readonly at: Date;
}

const MINUTE_MS = 60_000;

/**
 * Tells the sweeps that this tenant has something to do at a time: one row a tenant, kind and minute, rounded up so that
 * a sweep never comes too early.
 */
export const noteDue = defineWrite<Due>({
  table: "due",
  sortKey: ({ kind, at }) => `${kind} ${at.getTime()}`,
  queries(sql, tenantId, dues) {
    const rows = new Map(
      dues.map(({ kind, at }) => {
        const minute = new Date(Math.ceil(at.getTime() / MINUTE_MS) * MINUTE_MS);
        return [`${kind} ${minute.getTime()}`, { tenant_id: tenantId, kind, due_at: minute }];
      }),
    );
    return [sql`insert into due ${sql([...rows.values()])} on conflict do nothing`];
  },
});
