import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { bytes, uuid } from "../statements/parameter.js";
import { readRow } from "../statements/single-row.js";
import type { Columns } from "../wire/columns.js";
import type { RightsColumns } from "./applications.js";

export interface CredentialRow extends RightsColumns {
  readonly revision: number;
  readonly settings: JsonObject;
  readonly event_types: readonly string[];
  readonly application_id: Uuid;
  /** Of the application. */
  readonly created_by: Uuid | null;
}

export interface KeyCredentialRow extends CredentialRow {
  readonly key_id: Uuid;
  readonly key_hash: Buffer;
  readonly key_created_by: Uuid | null;
  readonly key_expires_at: Date | null;
  readonly proof: Buffer;
}

const COLUMNS = `
  t.auth_revision as revision, t.settings, t.event_types, a.id as application_id, a.type, a.definition, a.created_by`;

function readCredentials(column: Columns): CredentialRow {
  return {
    revision: column.integer(),
    settings: column.jsonObject(),
    event_types: column.texts(),
    application_id: column.uuid(),
    type: column.text(),
    definition: column.bytes(),
    created_by: column.uuidOrNull(),
  };
}

/**
 * Reads the rights of an application, whichever key it has. Returns null if it does not exist or its tenant is not
 * active.
 */
export const findApplicationRights = readRow<Uuid, CredentialRow>({
  table: "applications",
  sql: `
    select ${COLUMNS}
    from applications a
    join tenants t on t.tenant_id = a.tenant_id and t.state = 'active'
    where a.tenant_id = :tenant and a.id = :id`,
  parameters: { id: uuid((id) => id) },
  row: readCredentials,
});

/** Finds the application of a key by the key's hash. Returns null if it does not exist or its tenant is not active. */
export const findApplicationKey = readRow<Buffer, KeyCredentialRow>({
  table: "application_keys",
  sql: `
    select ${COLUMNS}, k.id as key_id, k.key_hash, k.proof, k.created_by as key_created_by, k.expires_at as key_expires_at
    from application_keys k
    join applications a on a.tenant_id = k.tenant_id and a.id = k.application_id
    join tenants t on t.tenant_id = k.tenant_id and t.state = 'active'
    where k.tenant_id = :tenant and k.key_hash = :key_hash`,
  parameters: { key_hash: bytes((hash) => hash) },
  row: (column) => ({
    ...readCredentials(column),
    key_id: column.uuid(),
    key_hash: column.bytes(),
    proof: column.bytes(),
    key_created_by: column.uuidOrNull(),
    key_expires_at: column.timeOrNull(),
  }),
});
