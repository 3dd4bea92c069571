import type { Uuid } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import { boundQuery } from "./bound-statement.js";
import { bytes, uuid } from "./parameter.js";
import type { Columns } from "./wire/columns.js";

/** What a key is good for, read in one row. */
export interface CredentialRow {
  readonly revision: number;
  readonly settings: JsonObject;
  readonly application_id: Uuid;
  readonly application_type: string;
  readonly permissions: string[];
  readonly rules: JsonObject[];
}

const COLUMNS = `
  t.auth_revision as revision, t.settings, a.id as application_id, a.type as application_type, a.permissions, a.rules`;

function readCredentials(column: Columns): CredentialRow {
  return {
    revision: column.integer(),
    settings: column.jsonObject(),
    application_id: column.uuid(),
    application_type: column.text(),
    permissions: column.texts(),
    rules: column.jsonObjects(),
  };
}

/** Reads what an application may do, whichever key it has. Answers null where there is none, or its tenant is not active. */
export const findApplicationRights = boundQuery<Uuid, CredentialRow | null, CredentialRow>({
  table: "applications",
  kind: "read",
  sql: `
    select ${COLUMNS}
    from applications a
    join tenants t on t.tenant_id = a.tenant_id and t.state = 'active'
    where a.tenant_id = :tenant and a.id = :id`,
  parameters: { id: uuid((id) => id) },
  sortKey: (id) => id,
  row: readCredentials,
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Finds the application of a key by the key's hash. Answers null where there is none, or its tenant is not active. */
export const findApplicationKey = boundQuery<Buffer, CredentialRow | null, CredentialRow>({
  table: "application_keys",
  kind: "read",
  sql: `
    select ${COLUMNS}
    from application_keys k
    join applications a on a.tenant_id = k.tenant_id and a.id = k.application_id
    join tenants t on t.tenant_id = k.tenant_id and t.state = 'active'
    where k.tenant_id = :tenant and k.key_hash = :key_hash`,
  parameters: { key_hash: bytes((hash) => hash) },
  sortKey: (hash) => hash.toString("hex"),
  row: readCredentials,
  answers: (rows) => rows.map(([row]) => row ?? null),
});
