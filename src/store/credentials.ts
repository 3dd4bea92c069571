import type { Uuid } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import type { RightsColumns } from "./applications.js";
import { byteaArray } from "./parameters.js";
import { defineStatement } from "./statement.js";

/** What a key is good for, read in one row. */
export interface CredentialRow extends RightsColumns {
  readonly revision: number;
  readonly settings: JsonObject;
  readonly application_id: Uuid;
}

/** What a key is good for, and which one it is. */
export interface KeyCredentialRow extends CredentialRow {
  readonly key_id: Uuid;
  readonly key_hash: Buffer;
  readonly proof: Buffer | null;
}

/** Reads what an application may do, whichever key it has. Answers null where there is none, or its tenant is not active. */
export const findApplicationRights = defineStatement<Uuid, CredentialRow | null, CredentialRow>({
  table: "applications",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`
      select t.auth_revision as revision, t.settings,
        a.id as application_id, a.type, a.name, a.permissions, a.rules, a.definition
      from applications a
      join tenants t on t.tenant_id = a.tenant_id and t.state = 'active'
      where a.tenant_id = ${tenantId} and a.id = any(${[...ids]}::uuid[])`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.application_id === id) ?? null),
});

/** Finds the application of a key by the key's hash. Answers null where there is none, or its tenant is not active. */
export const findApplicationKey = defineStatement<Buffer, KeyCredentialRow | null, KeyCredentialRow>({
  table: "application_keys",
  kind: "read",
  sortKey: (hash) => hash.toString("hex"),
  queries: (sql, tenantId, hashes) => [
    sql`
      select t.auth_revision as revision, t.settings, k.key_hash, k.id as key_id, k.proof,
        a.id as application_id, a.type, a.name, a.permissions, a.rules, a.definition
      from application_keys k
      join applications a on a.tenant_id = k.tenant_id and a.id = k.application_id
      join tenants t on t.tenant_id = k.tenant_id and t.state = 'active'
      where k.tenant_id = ${tenantId} and k.key_hash = any(${byteaArray(sql, hashes)})`,
  ],
  answers: ([rows = []], hashes) => hashes.map((hash) => rows.find((row) => row.key_hash.equals(hash)) ?? null),
});
