import { type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { inPreparedSizes } from "../statements/prepared-sizes.js";
import { defineChange, defineForEach, defineHasWritten, defineRows } from "../statements/row-statements.js";
import { defineWrite } from "../statements/statement.js";

export interface TenantKeyRow {
  readonly purpose: string;
  readonly version: number;
  readonly wrapped: Buffer;
  readonly root_key_id: string;
  readonly state: string;
}

export interface ListedTenantKey extends TenantKeyRow {
  readonly auth_revision: number;
  readonly created_at: Date;
}

export const listTenantKeys = defineRows<TenantId, ListedTenantKey>("tenant_keys", (sql, tenantId) =>
  tenantId === VAULT_TENANT_ID
    ? sql`
      select purpose, version, wrapped, root_key_id, state, created_at, 0::bigint as auth_revision
      from tenant_keys where tenant_id = ${tenantId} order by purpose, version`
    : sql`
      select k.purpose, k.version, k.wrapped, k.root_key_id, k.state, k.created_at, t.auth_revision
      from tenant_keys k join tenants t on t.tenant_id = k.tenant_id
      where k.tenant_id = ${tenantId} order by k.purpose, k.version`,
);

/** The id of the root key that wraps new keys. Undefined if none is registered. */
export const wrappingRootKey = defineForEach<"wrapping", string | undefined, { readonly id: string }>(
  "read",
  // Root keys belong to no tenant. They are read here, but never locked.
  "tenant_keys",
  (sql) => sql`select id from root_keys where retired_at is null`,
  ([row]) => row?.id,
);

export const insertTenantKey = defineWrite<TenantKeyRow>({
  table: "tenant_keys",
  sortKey: ({ purpose, version }) => `${purpose} ${version}`,
  queries(sql, tenantId, drafts, at) {
    return inPreparedSizes(drafts).map((piece) => {
      const rows = piece.map((draft) => ({ tenant_id: tenantId, created_at: at, ...draft }));
      return sql`insert into tenant_keys ${sql(rows)}`;
    });
  },
});

export interface KeyVersionName {
  readonly purpose: string;
  readonly version: number;
}

/** Turns a current key into one that only opens. Returns whether it was current. */
export const retireTenantKey = defineHasWritten<KeyVersionName>(
  "tenant_keys",
  (sql, tenantId, { purpose, version }) => sql`
    update tenant_keys set state = 'retired'
    where tenant_id = ${tenantId} and purpose = ${purpose} and version = ${version} and state = 'current'
    returning 1`,
);

/** Destroys the wrapped bytes of a key that no longer seals anything. */
export const deleteRetiredTenantKey = defineChange<KeyVersionName>(
  "tenant_keys",
  (sql, tenantId, { purpose, version }) => sql`
    delete from tenant_keys
    where tenant_id = ${tenantId} and purpose = ${purpose} and version = ${version} and state = 'retired'`,
);

export interface Rewrapping extends KeyVersionName {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly root_key_id: string;
}

/** Replaces a key with the same key wrapped again, unless another process was faster. */
export const rewrapTenantKeyRow = defineChange<Rewrapping>(
  "tenant_keys",
  (sql, tenantId, { purpose, version, from, to, root_key_id }) => sql`
    update tenant_keys set wrapped = ${to}, root_key_id = ${root_key_id}
    where tenant_id = ${tenantId} and purpose = ${purpose} and version = ${version} and wrapped = ${from}`,
);

/** Inserts a key. Leaves an existing one of that purpose and version unchanged. */
export const insertTenantKeyIfMissing = defineChange<TenantKeyRow>(
  "tenant_keys",
  (sql, tenantId, draft, at) => sql`
    insert into tenant_keys ${sql({ tenant_id: tenantId, created_at: at, ...draft })} on conflict do nothing`,
);

/** Destroys all keys of a tenant. What they sealed can never be opened again. */
export const deleteTenantKeys = defineChange<TenantId>(
  "tenant_keys",
  (sql, tenantId) => sql`delete from tenant_keys where tenant_id = ${tenantId}`,
);
