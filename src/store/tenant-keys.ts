import type { TenantId } from "../base/ids.js";
import { defineStatement, defineWrite, inSizes } from "./statement.js";

/** A tenant key as it is stored. */
export interface TenantKeyRow {
  readonly purpose: string;
  readonly version: number;
  readonly wrapped: Buffer;
  readonly root_key_id: string;
  readonly state: string;
}

/** All keys of the tenant. */
export const listTenantKeys = defineStatement<TenantId, readonly TenantKeyRow[], TenantKeyRow>({
  table: "tenant_keys",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [
    sql`select purpose, version, wrapped, root_key_id, state from tenant_keys where tenant_id = ${tenantId}`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows),
});

export const insertTenantKey = defineWrite<TenantKeyRow>({
  table: "tenant_keys",
  sortKey: ({ purpose, version }) => `${purpose} ${version}`,
  queries(sql, tenantId, drafts, at) {
    return inSizes(drafts, (piece) => {
      const rows = piece.map((draft) => ({ tenant_id: tenantId, created_at: at, ...draft }));
      return sql`insert into tenant_keys ${sql(rows)}`;
    });
  },
});
