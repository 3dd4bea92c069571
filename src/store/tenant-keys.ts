import type { TenantId } from "../base/ids.js";
import { defineStatement, inSizes } from "./statement.js";

/** A tenant key as it is stored. */
export interface TenantKeyRow {
  readonly purpose: string;
  readonly version: number;
  readonly wrapped: Buffer;
  readonly root_key_id: string;
  readonly state: string;
}

/** All keys of the tenant. */
export const listTenantKeys = defineStatement<TenantId, readonly TenantKeyRow[]>({
  table: "tenant_keys",
  kind: "read",
  sortKey: () => "",
  async run(sql, tenantId, inputs) {
    const rows = await sql<TenantKeyRow[]>`
      select purpose, version, wrapped, root_key_id, state from tenant_keys where tenant_id = ${tenantId}`;
    return inputs.map(() => rows);
  },
});

export const insertTenantKey = defineStatement<TenantKeyRow, never>({
  table: "tenant_keys",
  kind: "write",
  sortKey: ({ purpose, version }) => `${purpose} ${version}`,
  run(sql, tenantId, drafts, at) {
    return inSizes(drafts, (piece) => {
      const rows = piece.map((draft) => ({ tenant_id: tenantId, created_at: at, ...draft }));
      return sql`insert into tenant_keys ${sql(rows)}`;
    });
  },
});
