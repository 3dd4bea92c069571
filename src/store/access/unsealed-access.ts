import type { Uuid } from "../../base/ids.js";
import { defineChange, defineRows } from "../statements/row-statements.js";
import { isUnexpired } from "../statements/unexpired.js";
import type { NewApplicationKey } from "./application-keys.js";
import type { RightsColumns } from "./applications.js";
import type { SessionColumns } from "./sessions.js";

/*
 * Rows that decide access but are not sealed yet, of tenants whose keys are from an earlier release. Reading locks
 * them. Otherwise the seal would overwrite what a server changes meanwhile.
 */

export type UnsealedApplication = RightsColumns & { readonly id: Uuid };

export const lockUnsealedApplications = defineRows<"all", UnsealedApplication>(
  "write",
  "applications",
  (sql, tenantId) => sql`
    select id, type, name, permissions, rules, definition from applications
    where tenant_id = ${tenantId} and definition is null order by id for update`,
);

export const sealApplicationDefinition = defineChange<UnsealedApplication>(
  "applications",
  (sql, tenantId, { id, name, permissions, rules, definition }) => sql`
    update applications set name = ${name}, permissions = ${[...permissions]}::text[],
      rules = ${sql.json([...rules])}, definition = ${definition}
    where tenant_id = ${tenantId} and id = ${id}`,
);

export type UnsealedKey = Omit<NewApplicationKey, "created_by">;

export const lockUnsealedKeys = defineRows<"all", UnsealedKey>(
  "write",
  "application_keys",
  (sql, tenantId) => sql`
    select id, application_id, key_hash, proof from application_keys
    where tenant_id = ${tenantId} and proof is null order by id for update`,
);

export const sealKeyProof = defineChange<Pick<UnsealedKey, "id" | "proof">>(
  "application_keys",
  (sql, tenantId, { id, proof }) =>
    sql`update application_keys set proof = ${proof} where tenant_id = ${tenantId} and id = ${id}`,
);

export interface UnsealedSession extends SessionColumns {
  readonly permissions: RightsColumns["permissions"] | null;
  readonly rules: RightsColumns["rules"] | null;
}

/** Unexpired sessions. */
export const lockUnsealedSessions = defineRows<"all", UnsealedSession>(
  "write",
  "sessions",
  (sql, tenantId, _, at) => sql`
    select id, key_hash, nonce_hash, application_id, authorized_by, expires_at, rights, permissions, rules
    from sessions where tenant_id = ${tenantId} and rights is null and ${isUnexpired(sql, "expires_at", at)}
    order by id for update`,
);

export const sealSessionRights = defineChange<Pick<UnsealedSession, "id" | "rights">>(
  "sessions",
  (sql, tenantId, { id, rights }) => sql`
    update sessions set rights = ${rights}, permissions = '{}', rules = '[]'
    where tenant_id = ${tenantId} and id = ${id}`,
);
