import type { Uuid } from "../../base/ids.js";
import type { PageRequest } from "../../base/page.js";
import { boundQuery, boundWrite } from "../statements/bound-statement.js";
import { defineList } from "../statements/counted-page.js";
import { bytes, time, uuid } from "../statements/parameter.js";
import { defineRows } from "../statements/row-statements.js";
import { readRow, writeRow } from "../statements/single-row.js";
import type { Columns } from "../wire/columns.js";

export interface ApplicationKeyRow {
  readonly id: Uuid;
  readonly application_id: Uuid;
  readonly key_hash: Buffer;
  /** Sealed: a server gave the key to the application. */
  readonly proof: Buffer;
  /** Sealed: name and owner. */
  readonly details: Buffer | null;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
}

export type NewApplicationKey = Omit<ApplicationKeyRow, "created_at" | "last_used_at">;

export const insertApplicationKey = boundWrite<NewApplicationKey>({
  table: "application_keys",
  sql: `
    insert into application_keys (
      tenant_id, id, application_id, key_hash, proof, details, created_by, created_at, expires_at
    )
    values (:tenant, :id, :application_id, :key_hash, :proof, :details, :created_by, :now, :expires_at)`,
  parameters: {
    id: uuid(({ id }) => id),
    application_id: uuid(({ application_id }) => application_id),
    key_hash: bytes(({ key_hash }) => key_hash),
    proof: bytes(({ proof }) => proof),
    details: bytes(({ details }) => details),
    expires_at: time(({ expires_at }) => expires_at),
    created_by: uuid(({ created_by }) => created_by),
  },
});

const COLUMNS = "id, application_id, key_hash, proof, details, created_by, created_at, expires_at, last_used_at";

const readKeyRow = (column: Columns): ApplicationKeyRow => ({
  id: column.uuid(),
  application_id: column.uuid(),
  key_hash: column.bytes(),
  proof: column.bytes(),
  details: column.bytesOrNull(),
  created_by: column.uuidOrNull(),
  created_at: column.time(),
  expires_at: column.timeOrNull(),
  last_used_at: column.timeOrNull(),
});

export const listKeysOfApplication = boundQuery<Uuid, readonly ApplicationKeyRow[], ApplicationKeyRow>({
  table: "application_keys",
  kind: "read",
  sql: `
    select ${COLUMNS} from application_keys
    where tenant_id = :tenant and application_id = :application_id order by created_at, id`,
  parameters: { application_id: uuid((id) => id) },
  row: readKeyRow,
  outputs: (rows) => rows,
});

export interface ApplicationKeyListing extends PageRequest {
  readonly applicationId: Uuid;
}

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
  row: readKeyRow,
});

/** Returns whether the key existed. */
export const deleteApplicationKey = writeRow<NamedKey>({
  table: "application_keys",
  sql: `
    delete from application_keys
    where tenant_id = :tenant and application_id = :application_id and id = :id returning 1`,
  parameters: NAMED_KEY,
});

/** How many keys all applications have, and how many of them were made before a time. */
export const countApplicationKeys = defineRows<Date, { readonly all: number; readonly old: number }>(
  "application_keys",
  (sql, tenantId, before) => sql`
    select count(*) as all, count(*) filter (where created_at < ${before}) as old from application_keys
    where tenant_id = ${tenantId}`,
);

/** When a key left its last row in the log. */
export interface KeyUse {
  readonly id: Uuid;
  readonly at: Date;
}

/**
 * Notes the last use of keys, unless a later one is noted. An id of something else than a key is passed over, and so is a
 * key that another transaction is about to change or delete: that one may wait for a row that this one holds.
 */
export const noteKeyUse = boundWrite<KeyUse>({
  table: "application_keys",
  sql: `
    update application_keys set last_used_at = :at
    where tenant_id = :tenant and id = any(array(
      select id from application_keys
      where tenant_id = :tenant and id = :id and (last_used_at is null or last_used_at < :at)
      for no key update skip locked))`,
  parameters: { id: uuid(({ id }) => id), at: time(({ at }) => at) },
});
