import type { Uuid } from "../../base/ids.js";
import type { PageRequest } from "../../base/page.js";
import { boundQuery, boundWrite } from "../statements/bound-statement.js";
import { defineList } from "../statements/counted-page.js";
import { bytes, uuid } from "../statements/parameter.js";
import { readRow, writeRow } from "../statements/single-row.js";
import type { Columns } from "../wire/columns.js";

export interface ApplicationKeyRow {
  readonly id: Uuid;
  readonly application_id: Uuid;
  readonly key_hash: Buffer;
  /** Sealed: a server gave the key to the application. */
  readonly proof: Buffer;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
}

export interface NewApplicationKey {
  readonly id: Uuid;
  readonly application_id: Uuid;
  readonly key_hash: Buffer;
  /** Sealed: a server gave the key to the application. */
  readonly proof: Buffer;
  readonly created_by: Uuid | null;
}

export const insertApplicationKey = boundWrite<NewApplicationKey>({
  table: "application_keys",
  sql: `
    insert into application_keys (tenant_id, id, application_id, key_hash, proof, created_by, created_at)
    values (:tenant, :id, :application_id, :key_hash, :proof, :created_by, :now)`,
  parameters: {
    id: uuid(({ id }) => id),
    application_id: uuid(({ application_id }) => application_id),
    key_hash: bytes(({ key_hash }) => key_hash),
    proof: bytes(({ proof }) => proof),
    created_by: uuid(({ created_by }) => created_by),
  },
  sortKey: ({ id }) => id,
});

const COLUMNS = "id, application_id, key_hash, proof, created_by, created_at";

const readKeyRow = (column: Columns): ApplicationKeyRow => ({
  id: column.uuid(),
  application_id: column.uuid(),
  key_hash: column.bytes(),
  proof: column.bytes(),
  created_by: column.uuidOrNull(),
  created_at: column.time(),
});

/** All keys of an application, oldest first. */
export const listApplicationKeysOf = boundQuery<Uuid, readonly ApplicationKeyRow[], ApplicationKeyRow>({
  table: "application_keys",
  kind: "read",
  sql: `
    select ${COLUMNS} from application_keys
    where tenant_id = :tenant and application_id = :application_id order by created_at, id`,
  parameters: { application_id: uuid((id) => id) },
  sortKey: (id) => id,
  row: readKeyRow,
  outputs: (rows) => rows,
});

export interface ApplicationKeyListing extends PageRequest {
  readonly applicationId: Uuid;
}

/** A page, newest first. */
export const listApplicationKeyRows = defineList<ApplicationKeyListing, ApplicationKeyRow>(
  "application_keys",
  COLUMNS,
  (sql, listing) => sql`and application_id = ${listing.applicationId}`,
);

export interface NamedKey {
  readonly applicationId: Uuid;
  readonly id: Uuid;
}

const NAMED_KEY = {
  application_id: uuid<NamedKey>(({ applicationId }) => applicationId),
  id: uuid<NamedKey>(({ id }) => id),
};

export const readApplicationKey = readRow<NamedKey, ApplicationKeyRow>({
  table: "application_keys",
  sql: `
    select ${COLUMNS} from application_keys
    where tenant_id = :tenant and application_id = :application_id and id = :id`,
  parameters: NAMED_KEY,
  sortKey: ({ id }) => id,
  row: readKeyRow,
});

/** Returns whether the key existed. */
export const deleteApplicationKey = writeRow<NamedKey>({
  table: "application_keys",
  sql: `
    delete from application_keys
    where tenant_id = :tenant and application_id = :application_id and id = :id returning 1`,
  parameters: NAMED_KEY,
  sortKey: ({ id }) => id,
});
