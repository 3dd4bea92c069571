import { randomInt } from "node:crypto";
import type { TenantId, Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import type { Sql } from "../postgres/connect.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import { boundWrite } from "../statements/bound-statement.js";
import { json, text, uuid } from "../statements/parameter.js";
import { REVISION_STEP } from "../statements/revision-step.js";
import { defineChange, defineHasWritten, defineRow } from "../statements/row-statements.js";
import { lockedRead } from "../transactions/row-lock.js";

export interface TenantRow extends AuthorshipColumns {
  readonly tenant_id: TenantId;
  readonly name: string;
  readonly owner_id: Uuid;
  readonly settings: JsonObject;
  readonly auth_revision: number;
  readonly included_monthly_active_tokens: number | null;
}

export const readTenant = defineRow<TenantId, TenantRow>(
  "tenants",
  (sql, tenantId) => sql`
    select tenant_id, name, owner_id, settings, auth_revision, included_monthly_active_tokens, ${sql.unsafe(AUTHORSHIP)}
    from tenants where tenant_id = ${tenantId} and state = 'active'`,
);

export const lockTenant = lockedRead<TenantId, TenantRow | null>("tenants", {}, readTenant);

export type NewTenant = Pick<TenantRow, "name" | "owner_id" | "settings">;

export const insertTenant = defineChange<NewTenant>(
  "tenants",
  (sql, tenantId, { name, owner_id, settings }, at) => sql`
    insert into tenants (tenant_id, name, owner_id, settings, state, auth_revision, event_types, created_at)
    values (${tenantId}, ${name}, ${owner_id}, ${sql.json(settings)}, 'active', 1, array[]::text[], ${at})`,
);

export interface TenantChange {
  readonly name: string;
  readonly settings: JsonObject;
  readonly modified_by: Uuid;
}

/** Changes a tenant, and increments the revision that requests are authorized under. */
export const updateTenantRow = boundWrite<TenantChange>({
  table: "tenants",
  sql: `
    update tenants set name = :name, settings = :settings, modified_by = :modified_by, modified_at = :now,
      auth_revision = auth_revision + :step
    where tenant_id = :tenant`,
  parameters: {
    step: REVISION_STEP,
    name: text(({ name }) => name),
    settings: json(({ settings }) => settings),
    modified_by: uuid(({ modified_by }) => modified_by),
  },
  sortKey: ({ name }) => name,
});

/**
 * Increments the revision that requests are authorized under. Part of every change to keys, applications, rules,
 * settings or state: earlier authorizations fail once it commits.
 */
export const incrementAuthRevision = boundWrite<TenantId>({
  table: "tenants",
  isAtCommit: true,
  sql: "update tenants set auth_revision = auth_revision + :step where tenant_id = :tenant",
  parameters: { step: REVISION_STEP },
  combine: (inputs) => inputs.slice(0, 1),
});

export interface TenantDeletionMark {
  readonly modified_by: Uuid;
  /** Proves later that the vault deleted the tenant itself. */
  readonly closing_mac: Buffer;
}

/**
 * Deletes a tenant for good, and erases its name. Its row stays, which prevents reuse of its id. Returns whether the
 * tenant was active.
 */
export const markTenantDeleted = defineHasWritten<TenantDeletionMark>(
  "tenants",
  (sql, tenantId, { modified_by, closing_mac }, at) => sql`
    update tenants set state = 'deleted', name = '', settings = '{}', auth_revision = auth_revision + 1,
      modified_by = ${modified_by}, modified_at = ${at}, closing_mac = ${closing_mac}
    where tenant_id = ${tenantId} and state = 'active' returning 1`,
);

/** Sets the number that the tenant's plan includes; null: the configuration's. Returns whether the tenant exists. */
export const setIncludedTokens = defineHasWritten<number | null>(
  "tenants",
  (sql, tenantId, included) => sql`
    update tenants set included_monthly_active_tokens = ${included}
    where tenant_id = ${tenantId} and state = 'active' returning 1`,
);

/** Lets exports need no approval any more. Callers are authorized again. Returns whether the tenant exists. */
export const stopExportApproval = defineHasWritten<"once">(
  "tenants",
  (sql, tenantId) => sql`
    update tenants set settings = settings - 'require_export_approval', auth_revision = auth_revision + ${randomInt(1, 2 ** 21)}
    where tenant_id = ${tenantId} and state = 'active' returning 1`,
);

/**
 * The ids of all tenants, a thousand at a time. Only for the owner of the tables: row-level security shows other roles
 * only their own tenant.
 */
export async function listTenantIds(owner: Sql, after: TenantId | undefined): Promise<readonly TenantId[]> {
  const rows = await owner<{ tenant_id: TenantId }[]>`
    select tenant_id from tenants ${after === undefined ? owner`` : owner`where tenant_id > ${after}`}
    order by tenant_id limit 1000`;
  return rows.map(({ tenant_id }) => tenant_id);
}
