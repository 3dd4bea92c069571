import type { Uuid } from "../../base/ids.js";
import { defineStatement, defineWrite } from "../statements/statement.js";
import { isUnexpired } from "../statements/unexpired.js";
import type { NewApplicationKey } from "./application-keys.js";
import type { RightsColumns } from "./applications.js";
import type { SessionColumns } from "./sessions.js";

/*
 * Rows that decide access but are not sealed yet, of tenants whose keys are from an earlier release. Reading locks
 * them. Otherwise the seal would overwrite what a server changes meanwhile.
 */

export type UnsealedApplication = RightsColumns & { readonly id: Uuid };

export const lockUnsealedApplications = defineStatement<"all", readonly UnsealedApplication[], UnsealedApplication>({
  table: "applications",
  kind: "write",
  sortKey: () => "",
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      () => sql`
        select id, type, name, permissions, rules, definition from applications
        where tenant_id = ${tenantId} and definition is null order by id for update`,
    ),
  answers: (rows) => rows,
});

export const putDefinition = defineWrite<UnsealedApplication>({
  table: "applications",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ id, name, permissions, rules, definition }) => sql`
        update applications set name = ${name}, permissions = ${[...permissions]}::text[],
          rules = ${sql.json([...rules])}, definition = ${definition}
        where tenant_id = ${tenantId} and id = ${id}`,
    ),
});

export type UnsealedKey = Omit<NewApplicationKey, "created_by">;

export const lockUnsealedKeys = defineStatement<"all", readonly UnsealedKey[], UnsealedKey>({
  table: "application_keys",
  kind: "write",
  sortKey: () => "",
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      () => sql`
        select id, application_id, key_hash, proof from application_keys
        where tenant_id = ${tenantId} and proof is null order by id for update`,
    ),
  answers: (rows) => rows,
});

export const putProof = defineWrite<Pick<UnsealedKey, "id" | "proof">>({
  table: "application_keys",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ id, proof }) => sql`update application_keys set proof = ${proof} where tenant_id = ${tenantId} and id = ${id}`,
    ),
});

export interface UnsealedSession extends SessionColumns {
  readonly permissions: RightsColumns["permissions"] | null;
  readonly rules: RightsColumns["rules"] | null;
}

/** Unexpired sessions. */
export const lockUnsealedSessions = defineStatement<"all", readonly UnsealedSession[], UnsealedSession>({
  table: "sessions",
  kind: "write",
  sortKey: () => "",
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      () => sql`
        select id, key_hash, nonce_hash, application_id, authorized_by, expires_at, rights, permissions, rules
        from sessions where tenant_id = ${tenantId} and rights is null and ${isUnexpired(sql, "expires_at", at)}
        order by id for update`,
    ),
  answers: (rows) => rows,
});

export const putSessionRights = defineWrite<Pick<UnsealedSession, "id" | "rights">>({
  table: "sessions",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ id, rights }) => sql`
        update sessions set rights = ${rights}, permissions = '{}', rules = '[]'
        where tenant_id = ${tenantId} and id = ${id}`,
    ),
});
