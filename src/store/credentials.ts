import type { JsonObject } from "../base/json.js";
import type { Uuid } from "../base/ids.js";
import { byteaArray } from "./parameters.js";
import { defineStatement } from "./statement.js";

/** What a key is good for, read in one row. */
export interface CredentialRow {
  readonly revision: number;
  readonly settings: JsonObject;
  readonly application_id: Uuid;
  readonly application_type: string;
  readonly permissions: string[];
  readonly rules: JsonObject[];
}

/** Finds the application of a key by the key's hash. Answers null where there is none, or its tenant is not active. */
export const findApplicationKey = defineStatement<Buffer, CredentialRow | null>({
  table: "application_keys",
  kind: "read",
  sortKey: (hash) => hash.toString("hex"),
  async run(sql, tenantId, hashes) {
    const rows = await sql<(CredentialRow & { key_hash: Buffer })[]>`
      select t.auth_revision as revision, t.settings, k.key_hash,
        a.id as application_id, a.type as application_type, a.permissions, a.rules
      from application_keys k
      join applications a on a.tenant_id = k.tenant_id and a.id = k.application_id
      join tenants t on t.tenant_id = k.tenant_id and t.state = 'active'
      where k.tenant_id = ${tenantId} and k.key_hash = any(${byteaArray(sql, hashes)})`;
    return hashes.map((hash) => rows.find((row) => row.key_hash.equals(hash)) ?? null);
  },
});
